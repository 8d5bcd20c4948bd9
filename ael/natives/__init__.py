"""Effects of the standard library that Python does: files, processes, requests. A file for each topic, loaded when a tool needs it.

In `stdlib/std/` a `tool … extern "std:files.read_text"` names the function `read_text` of the topic `files`: `natives(world)` of
`ael/natives/files.py` gives the functions of its topic by name. Each is called as the body of any `extern` tool is, after the same
checks.
"""
