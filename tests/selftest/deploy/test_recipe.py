"""Which build of the engine a machine gets, and what may share one."""

from __future__ import annotations

from dataclasses import replace

from deploy import recipe

X86 = "processor\t: 0\nflags\t\t: fpu sse4_2 avx2 fma hypervisor\nbugs\t\t: spectre_v1\n\nprocessor\t: 1\n"


def test_native_build_is_bound_to_instructions():
    """A CPU without AVX2 does not get the build of a CPU with it."""
    assert recipe.parse_instructions(X86, "x86_64") == "avx2 fma sse4_2"
    assert recipe.parse_instructions(X86.replace(" avx2", ""), "x86_64") == "fma sse4_2"


def test_kernel_flags_do_not_rebuild():
    """Flags that a kernel update adds, and that are no instructions, cost no rebuild."""
    updated = X86.replace("hypervisor", "hypervisor ibrs_enhanced constant_tsc")
    assert recipe.parse_instructions(updated, "x86_64") == recipe.parse_instructions(X86, "x86_64")


def test_arm_features_count():
    """On Arm the line is called Features and every word of it is an instruction set."""
    assert recipe.parse_instructions("Features\t: fp asimd sve\n", "aarch64") == "asimd fp sve"


def test_unknown_cpuinfo_is_empty():
    """A text without either line gives no flags, and no crash."""
    assert recipe.parse_instructions("model name: x\n", "x86_64") == ""


def test_builds_share_nothing_across_kinds():
    """Native and portable builds of one version are kept apart."""
    assert recipe.native_recipe().key != recipe.portable_recipe().key
    assert recipe.portable_recipe().cpu == "any"


def test_key_follows_each_part():
    """Another version, CPU or flag is another build."""
    base = recipe.portable_recipe()
    others = (replace(base, requirement="x==1"), replace(base, cpu="other"), replace(base, cmake_args=("-DX=ON",)))
    assert len({base.key, *(other.key for other in others)}) == 4


def test_own_cmake_args_are_named(monkeypatch):
    """A build with the user's own CMAKE_ARGS is called custom and holds them."""
    monkeypatch.setenv("CMAKE_ARGS", "-DGGML_BLAS=ON '-DX=a b'")
    found = recipe.native_recipe()
    assert (found.kind, found.cmake_args[-2:]) == ("custom", ("-DGGML_BLAS=ON", "-DX=a b"))


def test_cache_folder_is_the_users(monkeypatch, tmp_path):
    """Builds are kept below XDG_CACHE_HOME, outside the tree."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache with space"))
    assert recipe.cache_folder() == tmp_path / "cache with space" / "streamworthy" / "wheels"


def test_cache_folder_without_a_home(monkeypatch, tmp_path):
    """A home that cannot be written is passed over."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert recipe.cache_folder() == tmp_path / ".cache" / "streamworthy" / "wheels"
