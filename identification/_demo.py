"""The whole way from motions to an identified robot, on a robot that is made up.

The robot's file says one thing; the true robot is another, of the same structure. Only
motions and torques of the true one are known, with noise. Since the truth is known here,
it can be seen how near the result comes, and whether the error bars tell.
"""

from pathlib import Path


ARM7 = Path(__file__).parent / "robots" / "arm7.xml"
"""File of the built-in robot: seven joints and a tool, all made up."""
