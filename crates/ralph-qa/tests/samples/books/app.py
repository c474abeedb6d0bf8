"""The library of a neighbourhood, in Hebrew: pages that the server makes, with plain forms."""

from serve import escape, page, redirect

BOOKS = [
    ("הדרך אל הים", "נועה ברק", 2019, True),
    ("גן של לילה", "יואב כהן", 2021, True),
    ("שבעה חלונות", "תמר לוי", 2016, False),
    ("מכתבים מהצפון", "דן אלון", 2023, True),
    ("הבית ברחוב השקט", "נועה ברק", 2022, True),
    ("ציפורים בגשם", "רות שגב", 2018, False),
    ("השעון והירח", "יואב כהן", 2020, True),
    ("לחם חם", "תמר לוי", 2024, True),
]
AT_MOST = 3

FRAME = """<!doctype html>
<html lang="he" dir="rtl">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} – ספריית השכונה</title>
<link rel="icon" href="/shared/icon.svg">
<link rel="stylesheet" href="/shared/base.css">
<link rel="stylesheet" href="/books/books.css">
</head>
<body>
<header class="top"><div class="in">
<a class="brand" href="/books/"><img src="/books/leaf.svg" alt="">ספריית השכונה</a>
<nav aria-label="עמודים"><a href="/books/"{here}>קטלוג</a><a href="/books/about">אודות</a></nav>
</div></header>
<main>{main}</main>
</body>
</html>
"""


def framed(title, main, here=""):
    return page(FRAME.format(title=title, main=main, here=here))


def new_state():
    return {"ordered": []}


def answer(request):
    ordered = request.state["ordered"]
    if request.path == "/":
        return catalogue(request.query.get("q", "").strip(), ordered)
    if request.path == "/order" and request.method == "POST":
        number = int(request.form()["book"])
        if number not in ordered and len(ordered) < AT_MOST:
            ordered.append(number)
        return redirect("/books/")
    if request.path == "/about":
        return framed("אודות", "<h1>אודות</h1><p>הספרייה פתוחה בימים ראשון עד חמישי, מ־9 עד 18.</p><p><a href='/books/'>חזרה לקטלוג</a></p>".replace("־", "-"))
    return None


def catalogue(wanted, ordered):
    found = [(i, b) for i, b in enumerate(BOOKS) if wanted in b[0] or wanted in b[1]]
    rows = "".join(row(i, b, i in ordered, len(ordered) < AT_MOST) for i, b in found)
    shelf = "".join(f"<li>{escape(BOOKS[i][0])}</li>" for i in ordered) or "<li>עדיין ריק</li>"
    table = f"<div class=card><p role=status>נמצאו {len(found)} ספרים</p><table><thead><tr><th>ספר</th><th>מחבר</th><th>שנה</th><th>מצב</th></tr></thead><tbody>{rows}</tbody></table></div>" if found else "<div class=notice role=status>לא נמצאו ספרים.</div>"
    return framed(
        "קטלוג",
        f"<h1>מה תרצו לקרוא?</h1><form class=search action='/books/' role=search><div class=field><label for=q>חיפוש</label><input id=q name=q value='{escape(wanted)}' placeholder='שם הספר או המחבר'></div><button>חפשו</button></form>"
        f"<div class=catalogue>{table}<aside class='card shelf'><h2>המדף שלי</h2><p>הוזמנו {len(ordered)} מתוך {AT_MOST}</p><ul>{shelf}</ul>"
        "<a class=more href='/books/about'>שעות הפתיחה<svg width='18' height='14' viewBox='0 0 18 14' aria-hidden='true'><path d='M1 7h15M10 1l6 6-6 6' fill='none' stroke='currentColor' stroke-width='2'/></svg></a></aside></div>",
        " aria-current=page",
    )


def row(number, book, ordered, room):
    title, author, year, free = book
    if ordered:
        act = "<span class='tag good'>הוזמן</span>"
    elif not free:
        act = "<span class='tag bad'>מושאל</span>"
    elif room:
        act = f"<form method=post action='/books/order'><input type=hidden name=book value={number}><button class=quiet aria-label='הזמנה: {escape(title)}'>הזמנה</button></form>"
    else:
        act = "<span class=tag>פנוי</span>"
    return f"<tr><td>{escape(title)}</td><td>{escape(author)}</td><td>{year}</td><td>{act}</td></tr>"
