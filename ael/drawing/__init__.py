"""Pictures of agents: their nodes and edges as text, as Mermaid, as SVG."""
