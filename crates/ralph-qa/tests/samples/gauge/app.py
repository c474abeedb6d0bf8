"""Three weather stations; their curves are always the same."""

import math

from serve import data, page

STATIONS = {
    "harbour": {"name": "Harbour", "place": "On the east pier, 4 m above the sea", "sky": "cloud", "temperature": 14.2, "wind": 23, "rain": 0.4, "middle": 13, "swing": 4},
    "hill": {"name": "Hill", "place": "Above the town, 212 m above the sea", "sky": "sun", "temperature": 17.8, "wind": 31, "rain": 0.0, "middle": 14, "swing": 7},
    "mill": {"name": "Old mill", "place": "By the river, 18 m above the sea", "sky": "rain", "temperature": 9.6, "wind": 8, "rain": 5.2, "middle": 8, "swing": 3},
}


def new_state():
    return {}


def answer(request):
    if request.path == "/":
        return page((request.app.folder / "index.html").read_text())
    if request.path == "/stations":
        rows = "".join(f"<tr><td>{s['name']}</td><td>{s['place']}</td></tr>" for s in STATIONS.values())
        return page(f"<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'><title>Stations – Gauge</title><link rel=icon href=/shared/icon.svg><link rel=stylesheet href=/shared/base.css><main><h1>Stations</h1><div class=card><table><thead><tr><th>Station</th><th>Place</th></tr></thead><tbody>{rows}</tbody></table></div><p><a href=/gauge/>Now</a></p></main></html>")
    station = STATIONS.get(request.path.removeprefix("/api/stations/"))
    if station is None:
        return None
    request.wait(30, 250)
    hours = [round(station["middle"] - station["swing"] * math.cos((hour - 3) * math.pi / 12), 1) for hour in range(24)]
    return data({**station, "hours": hours})
