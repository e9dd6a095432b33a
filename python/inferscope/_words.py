"""Words for people."""


def counted(number, noun, plural=None):
    """A number of things: "1 worker", "2 batches"."""
    return "%d %s" % (number, noun if number == 1 else plural or noun + "s")
