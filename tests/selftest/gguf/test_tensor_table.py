"""The tensor table: see test_reader for each fault; here what is left of a table with faults."""

from streamworthy.facts.gguf import TensorFacts
from streamworthy.gguf.reader import scan_header
from tests.selftest.gguf.build import F16, Q4_0, Q8_0, Tensor, build


def scan(folder, tensors, **changes):
    """Read a table of these tensors."""
    (folder / "m.gguf").write_bytes(build(tensors=tensors, **changes))
    return scan_header(folder / "m.gguf")


def test_sizes_follow_from_shape_and_type(tmp_path):
    """Blocks count along the innermost dimension; all others multiply."""
    tensors = (
        Tensor("a", (64, 3, 2, 2), Q8_0, bytes(64 * 12 // 32 * 34)),
        Tensor("b", (32,), Q4_0, bytes(18)),
        Tensor("c", (5, 7), F16, bytes(70)),
    )
    header, faults = scan(tmp_path, tensors)
    assert faults == ()
    assert header.tensors == (
        TensorFacts(name="a", dims=(64, 3, 2, 2), type_id=8, type_name="Q8_0", offset_bytes=0, size_bytes=816),
        TensorFacts(name="b", dims=(32,), type_id=2, type_name="Q4_0", offset_bytes=832, size_bytes=18),
        TensorFacts(name="c", dims=(5, 7), type_id=1, type_name="F16", offset_bytes=864, size_bytes=70),
    )
    assert [tensor.elements for tensor in header.tensors] == [768, 32, 35]


def test_one_wrong_offset_is_one_fault(tmp_path):
    """The tensors behind a gap are held against where the one before really is."""
    tensors = (Tensor("a"), Tensor("b", offset=1024), Tensor("c", offset=1536), Tensor("d", offset=2048))
    _, faults = scan(tmp_path, tensors)
    assert [fault.item for fault in faults] == ["offset of tensor 'b'"]
    assert (faults[0].found, faults[0].expected) == ("1024 (a gap before it)", "512")


def test_an_overlap_names_the_tensor_that_is_written_over(tmp_path):
    """Two tensors in one place."""
    _, faults = scan(tmp_path, (Tensor("a"), Tensor("b", offset=0)))
    assert faults[0].found == "0 (inside of 'a')"


def test_every_faulty_entry_is_reported(tmp_path):
    """A table is read to its end."""
    tensors = (Tensor("x" * 70), Tensor("b", (31, 4), Q4_0), Tensor("c", (32, 4), 99, bytes(512), 1024), Tensor("c"))
    _, faults = scan(tmp_path, tensors)
    assert [fault.kind for fault in faults][:4] == ["tensor", "tensor", "type", "tensor"]
