"""One self-contained page from a result document: no network, no server, the same bytes every time."""

from __future__ import annotations

from contextlib import suppress
from threading import Thread

from spanwise.document.head import DocumentLike
from spanwise.engines import check_room_for_drawing


def render(document: DocumentLike) -> str:
    """The page of an evaluation, a comparison, a description or a study.

    Needs the packages of the extra `report`.
    """
    from spanwise.errors import MissingExtra

    check_room_for_drawing()
    # vl-convert needs a third of a second to start; it does so while Altair is imported.
    started = Thread(target=_start_drawing)
    started.start()
    try:
        from spanwise.reports.html import page
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] == "spanwise":
            raise
        raise MissingExtra.of(error.name or "altair", "report", "the HTML page") from error
    finally:
        started.join()
    return page.render(document)


def _start_drawing() -> None:
    with suppress(ImportError):  # said better where it is needed
        import vl_convert

        vl_convert.vegalite_to_svg({"data": {"values": []}, "mark": "point"})
