"""The course: notebooks with the files that they read, copied to where a person may change them."""

from tablerec.lab.course import Copied, copy_course

__all__ = ["Copied", "copy_course"]
