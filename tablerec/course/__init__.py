"""The course: notebooks with the files that they read, copied to where a person may change them.

::

    course.py    copy_course: copies, and brings a copy up to date
    exercises.py check: says whether an exercise is solved; course_data: where the files of a lab are
    run.py       executes notebooks
    build.py     makes the notebooks from their sources in Markdown
    command.py   `tablerec lab`
"""

from tablerec.course.course import Copied, copy_course
from tablerec.course.exercises import check, course_data

__all__ = ["Copied", "check", "copy_course", "course_data"]
