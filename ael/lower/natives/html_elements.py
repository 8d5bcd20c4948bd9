"""The elements of HTML by what a browser does with them (WHATWG HTML, sections 13.1.2, 13.2.4.2 and 15.3)."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The names in a text."""
    return frozenset(text.split())


VOID = words("area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr")
"""They have no content and no end tag."""

RAW = words("iframe noembed noframes noscript script style textarea title xmp")
"""Their content is text up to their end tag, whatever stands in it."""
SHOWN_RAW = frozenset({"textarea", "xmp"})

UNSEEN = words("annotation annotation-xml applet audio canvas datalist frameset map object rp select svg template video")
"""What stands in them is not text of the page: pictures, players, lists of choices, what is shown only where those cannot be."""

HIDING_CLASSES = words(
    "d-none hide hidden invisible screen-reader-only screen-reader-text screenreader sr-only u-hidden visually-hidden "
    "visuallyhidden"
)
"""Class names that hide by custom, in style sheets that are not at hand."""

FOREIGN = ("svg", "math")
INTEGRATION = ("foreignobject", "desc", "title", "mi", "mo", "mn", "ms", "mtext", "annotation-xml")
"""Elements of SVG and MathML in which HTML stands again."""

SPECIAL = words(
    "address applet area article aside base basefont bgsound blockquote body br button caption center col colgroup dd details "
    "dialog dir div dl dt embed fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr "
    "html iframe img input keygen li link listing main marquee menu meta nav noembed noframes noscript object ol p param "
    "plaintext pre script search section select source style summary table tbody td template textarea tfoot th thead title tr "
    "track ul wbr xmp mi mo mn ms mtext annotation-xml foreignobject desc"
)
FORMATTING = words("a b big code em font i nobr s small strike strong tt u")
"""They go on in the next paragraph, until their own end tag."""

SCOPE = words("applet caption html table td th marquee object template select") | frozenset(INTEGRATION)
"""An end tag of another element does not reach out of them."""
TABLE_SCOPE = frozenset({"html", "table", "template"})
TABLE_PARTS = words("caption colgroup tbody td tfoot th thead tr table")
LOOSE = frozenset({"address", "div", "p"})

ENDS_PARAGRAPH = words(
    "address article aside blockquote center details dialog dir div dl dt dd fieldset figcaption figure footer form h1 h2 h3 h4 "
    "h5 h6 header hgroup hr li listing main menu nav ol p plaintext pre search section summary ul xmp"
)
CLOSES = {
    "td": ("td", "th"),
    "th": ("td", "th"),
    "tr": ("tr",),
    "tbody": ("tbody", "thead", "tfoot"),
    "thead": ("tbody", "thead", "tfoot"),
    "tfoot": ("tbody", "thead", "tfoot"),
    "caption": ("caption",),
    "dd": ("dd", "dt"),
    "dt": ("dd", "dt"),
    "li": ("li",),
    "a": ("a",),
    "button": ("button",),
}
"""Which open element a start tag ends first."""
