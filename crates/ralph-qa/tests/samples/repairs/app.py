"""A bicycle workshop: bookings are checked again here, and shown on a page of their own."""

from serve import data, escape, page

KINDS = {"flat": ("Flat tyre", 1800), "brakes": ("Brakes", 4500), "gears": ("Gears", 5250), "service": ("Full service", 9500)}

FRAME = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} – Canal Street Cycles</title>
<link rel="icon" href="/shared/icon.svg">
<link rel="stylesheet" href="/shared/base.css">
<link rel="stylesheet" href="/repairs/repairs.css">
</head>
<body>
<header class="top"><div class="in">
<a class="brand" href="/repairs/"><img src="/repairs/wheel.svg" alt="">Canal Street Cycles</a>
<nav aria-label="Pages"><a href="/repairs/">Book a repair</a><a href="/repairs/prices">Prices</a><a href="/repairs/hours">Opening hours</a></nav>
</div></header>
<main>{main}</main>
</body>
</html>
"""


def framed(title, main, status=200):
    return page(FRAME.format(title=title, main=main), status)


def money(pence):
    return f"£{pence // 100}.{pence % 100:02}"


def new_state():
    return {"bookings": []}


def answer(request):
    if request.path == "/":
        return page((request.app.folder / "index.html").read_text())
    if request.path == "/prices":
        rows = "".join(f"<tr><td>{name}</td><td class=number>{money(pence)}</td></tr>" for name, pence in KINDS.values())
        return framed("Prices", f"<h1>Prices</h1><div class=card><table><thead><tr><th>Repair</th><th class=number>Price</th></tr></thead><tbody>{rows}</tbody></table></div>")
    if request.path == "/hours":
        return framed("Opening hours", "<h1>Opening hours</h1><p>Monday to Saturday, 9 to 18.</p>")
    if request.path == "/api/bookings" and request.method == "POST":
        request.wait(40, 160)
        booking = request.json()
        if booking.get("kind") not in KINDS or not booking.get("name", "").strip():
            return data({"mistake": "the booking is not complete"}, 422)
        number = 1041 + len(request.state["bookings"])
        request.state["bookings"].append(booking)
        return data({"number": number}, 201)
    if request.path.startswith("/booked/"):
        number = request.path.removeprefix("/booked/")
        bookings = request.state["bookings"]
        if not number.isdigit() or not 1041 <= int(number) < 1041 + len(bookings):
            return framed("No such booking", "<h1>No such booking</h1>", 404)
        return booked(int(number), bookings[int(number) - 1041])
    return None


def booked(number, booking):
    name, each = KINDS[booking["kind"]]
    total = each * int(booking["bicycles"]) + (1500 if booking["soon"] == "today" else 0)
    rows = [("Name", booking["name"]), ("Phone", booking["phone"]), ("Day", booking["day"]), ("Repair", name), ("Bicycles", booking["bicycles"]), ("Photo", booking["photo"] or "none"), ("Total", money(total))]
    table = "".join(f"<tr><th scope=row>{label}</th><td>{escape(value)}</td></tr>" for label, value in rows)
    return framed("Booked", f"<div class=booked><h1>Thank you, {escape(booking['name'])}</h1><p>Your repair is booked. Please bring this number:</p><p class=number-tag>{number}</p><div class=card><table>{table}</table></div><p><a class='button quiet' href='/repairs/'>Book another repair</a></p></div>")
