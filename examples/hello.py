"""Says hello from inside the sandbox and leaves a file behind."""

import os
import platform
from pathlib import Path

greeting = f"Hello from Python, uid {os.getuid()} on {platform.node()}"
Path("hello.txt").write_text(greeting + "\n")
print(greeting)
print("Wrote hello.txt")
