"""Tickets of a harbour office: an interface in JSON that is slow, and one page for all its routes."""

import re

from serve import data, page

TICKETS = [
    ("Lamp of the north pier flickers", "Ines", "open"),
    ("Paint the mooring posts", "Tom", "closed"),
    ("Radio channel 12 is silent", "Ines", "open"),
    ("Replace two life rings", "Grace", "open"),
    ("Tide table for spring", "Tom", "closed"),
    ("Gate 3 does not close", "Oluf", "open"),
    ("Invoice for the crane is missing", "Grace", "open"),
    ("Bench by the slipway is broken", "Oluf", "closed"),
    ("Buoy 7 has drifted", "Ines", "open"),
    ("Order ropes for the pilot boat", "Tom", "open"),
    ("Water pump is loud at night", "Grace", "open"),
    ("Signs for visitors in three languages", "Oluf", "closed"),
]
ROUTES = re.compile(r"/(tickets/\d+|people|about)?")


def new_state():
    return {"tickets": [{"id": 101 + i, "title": t, "person": p, "state": s, "text": f"{p} looks after this until it is done.", "comments": []} for i, (t, p, s) in enumerate(TICKETS)]}


def answer(request):
    if ROUTES.fullmatch(request.path):
        return page((request.app.folder / "index.html").read_text())
    if request.path.startswith("/api/"):
        return interface(request, request.path.removeprefix("/api/"))
    return None


def interface(request, path):
    request.wait(60, 450)
    tickets = request.state["tickets"]
    if path == "tickets":
        return data(tickets)
    if path == "people":
        names = sorted({t["person"] for t in tickets})
        return data([{"name": n, "open": sum(t["person"] == n and t["state"] == "open" for t in tickets)} for n in names])
    if match := re.fullmatch(r"tickets/(\d+)", path):
        ticket = next((t for t in tickets if t["id"] == int(match[1])), None)
        if ticket is None:
            return data({"mistake": "there is no such ticket"}, 404)
        if request.method == "POST":
            change = request.json()
            ticket["state"] = change.get("state", ticket["state"])
            if change.get("comment"):
                ticket["comments"].append(change["comment"])
        return data(ticket)
    return data({"mistake": "there is nothing here"}, 404)
