"""To be stepped through by pdb."""


def inner(n):
    m = n + 1
    return m


def outer():
    total = 0
    for n in range(3):
        total += inner(n)
    return total


print(outer())
print([inner(n) for n in range(2)])
raise ValueError("the debugger sees it")
