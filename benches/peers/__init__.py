"""The peers' side. Each module runs in the peer's own environment (see ``benches.envs``), never in AEL's."""
