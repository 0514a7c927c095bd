"""The library's own graph: rooms and imports as the code has them."""

from babelatlas.workflow import house


def test_every_folder_of_the_library_that_holds_code_is_a_room():
    assert {path.parent.name for path in house.LIBRARY.glob("*/__init__.py")} == set(house.ROOMS)
    assert set(house.modules()["room"]) == set(house.ROOMS)


def test_imports_are_found_at_the_top_and_within_functions():
    found = set(house.imports().itertuples(index=False, name=None))
    assert ("babelatlas.workflow.catalogue", "babelatlas.base.tables") in found
    assert ("babelatlas.workflow.catalogue", "babelatlas.papers.claims") in found
    assert all(module != imported for module, imported in found)


def test_no_room_imports_from_one_above_it():
    floors = {room: floor for floor, room in enumerate(house.ROOMS)}
    counts = house.between_rooms()
    assert (counts["imported"].map(floors) > counts["room"].map(floors)).all()
    assert (counts["n"] > 0).all()
