"""Two accounts behind a login. The password is lantern-42, the same for everybody."""

from serve import data, escape, page, redirect

PASSWORD = "lantern-42"
MOVEMENTS = [
    ("2026-02-27", "Salary, February", 248000),
    ("2026-02-24", "Rent", -92000),
    ("2026-02-20", "Groceries", -8435),
    ("2026-02-18", "Train to Leeds", -4160),
    ("2026-02-12", "Sold an old lamp", 2500),
    ("2026-02-09", "Electricity", -7120),
]

FRAME = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} – Ledger</title>
<link rel="icon" href="/shared/icon.svg">
<link rel="stylesheet" href="/shared/base.css">
<link rel="stylesheet" href="/ledger/ledger.css">
{script}</head>
<body>
<header class="top"><div class="in">
<a class="brand" href="/ledger/"><img src="/ledger/coin.svg" alt="">Ledger</a>
{out}</div></header>
<main>{main}</main>
</body>
</html>
"""


def euros(cents):
    return f"{'-' if cents < 0 else ''}€{abs(cents) // 100}.{abs(cents) % 100:02}"


def new_state():
    return {"user": None, "everyday": 138785, "savings": 420000, "movements": list(MOVEMENTS)}


def answer(request):
    state = request.state
    if request.path == "/login":
        return login(request)
    if request.path == "/" and not state["user"]:
        return redirect("/ledger/login")
    if request.path == "/":
        return overview(state)
    if request.path == "/logout" and request.method == "POST":
        state["user"] = None
        return redirect("/ledger/login")
    if request.path == "/transfer" and request.method == "POST":
        return transfer(request)
    return None


def login(request):
    mistake = ""
    if request.method == "POST":
        form = request.form()
        request.wait(20, 120)
        if form.get("password") == PASSWORD and form.get("user", "").strip():
            request.state["user"] = form["user"].strip()
            return redirect("/ledger/")
        mistake = "<div class='notice bad' role=alert>The name or the password is wrong.</div>"
    main = f"<div class=door><h1>Sign in</h1>{mistake}<form class=card method=post action='/ledger/login'><div class=field><label for=user>Name</label><input id=user name=user autocomplete=username autofocus></div><div class=field><label for=password>Password</label><input id=password name=password type=password autocomplete=current-password></div><button>Sign in</button></form><p class=soft>Ask the office if you have lost your password.</p></div>"
    return page(FRAME.format(title="Sign in", main=main, out="", script=""), 401 if mistake else 200)


def transfer(request):
    state, form = request.state, request.form()
    if not state["user"]:
        return data({"mistake": "Sign in first."}, 401)
    cents = round(float(form["amount"]) * 100)
    request.wait(30, 200)
    if cents <= 0 or cents > state["everyday"]:
        return data({"mistake": "There is not enough in the account."}, 422)
    state["everyday"] -= cents
    if form["to"] == "savings":
        state["savings"] += cents
    state["movements"].insert(0, ("2026-03-01", "To savings" if form["to"] == "savings" else "To the landlord", -cents))
    return data({"done": True})


def overview(state):
    rows = "".join(f"<tr><td>{day}</td><td>{escape(what)}</td><td class='number {'out' if cents < 0 else 'in'}'>{euros(cents)}</td></tr>" for day, what, cents in state["movements"])
    total = state["everyday"] + state["savings"]
    main = (
        f"<h1>Good morning, {escape(state['user'])}</h1>"
        f"<div class='cards accounts'><div class=card><h2>Everyday</h2><p class=big data-testid=everyday>{euros(state['everyday'])}</p></div><div class=card><h2>Savings</h2><p class=big data-testid=savings>{euros(state['savings'])}</p></div><div class=card><h2>Together</h2><p class=big data-testid=total>{euros(total)}</p></div></div>"
        f"<div class=columns><section class=card><div class=tools><h2>Movements</h2><div class=choice><input type=checkbox id=only><label for=only>Only money out</label></div></div><p class=soft id=shown role=status>{len(state['movements'])} movements</p><table id=movements><thead><tr><th>Day</th><th>For</th><th class=number>Amount</th></tr></thead><tbody>{rows}</tbody></table></section>"
        "<form class=card id=transfer novalidate><h2>Move money</h2><div class=field><label for=to>To</label><select id=to name=to><option value=savings>Savings</option><option value=landlord>Landlord</option></select></div><div class=field><label for=amount>Amount in euros</label><input id=amount name=amount inputmode=decimal><p class=mistake id=mistake role=alert></p></div><button>Move it</button></form></div>"
        "<dialog class=card id=sure aria-labelledby=question><p id=question></p><div class=row><button id=yes>Yes, move it</button><button class=quiet id=no>No</button></div></dialog>"
    )
    out = "<form method=post action='/ledger/logout'><button class=quiet>Sign out</button></form>\n"
    return page(FRAME.format(title="Overview", main=main, out=out, script="<script src='/ledger/ledger.js' defer></script>\n"))
