"""What a run did, for people and for other systems: the trace of a kept run, as a page of its own, and OpenTelemetry export."""
