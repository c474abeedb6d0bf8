"""A drawing whose export ends the renderer."""

from serve import page


def new_state():
    return {}


def answer(request):
    return page((request.app.folder / "index.html").read_text()) if request.path == "/" else None
