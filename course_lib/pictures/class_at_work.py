"""placeholder"""
from course_lib.pictures.picture import Picture, new_figure
from course_lib.pictures.style import styled
def class_at_work(story):
    with styled():
        f, a = new_figure()
        return Picture(f, "x"*50)
