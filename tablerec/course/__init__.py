"""The course: notebooks with the files that they read, copied to where a person may change them.

::

    course.py    copy_course: copies, and brings a copy up to date
    run.py       executes notebooks
    command.py   `tablerec lab`
"""

from tablerec.course.course import Copied, copy_course

__all__ = ["Copied", "copy_course"]
