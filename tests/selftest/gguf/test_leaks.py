"""Leaks in texts: each kind is found and masked, ordinary metadata and chat templates have none, in linear time."""

import pytest

from streamworthy.gguf.leaks import (
    EMAIL,
    HOME,
    HOST,
    KEY,
    LOGIN,
    PASSWORD,
    PATH,
    SIGNED,
    TOKEN,
    find_leaks,
)

# Put together here, so that no scanner of repositories takes them for real ones.
LETTERS = "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"
TOKENS = {
    "hf_***": "hf_" + LETTERS[:34],
    "sk-***": "sk-" + "proj-" + LETTERS,
    "ghp_***": "ghp_" + LETTERS,
    "github_pat_***": "github_pat_" + LETTERS + LETTERS,
    "glpat-***": "glpat-" + LETTERS[:20],
    "AKIA***": "AKIA" + LETTERS[:16].upper(),
    "xoxb-***": "xoxb-" + "1234567890-" + LETTERS,
    "AIza***": "AIza" + LETTERS[:35],
    "npm_***": "npm_" + LETTERS,
    "eyJ***": "eyJ" + LETTERS + ".eyJ" + LETTERS + "." + LETTERS,
}
LEAKS = [
    *((text, TOKEN, shown) for shown, text in TOKENS.items()),
    ("https://bob:pa55@git.example.org/x.git", PASSWORD, "https://***"),
    ("https://host.org/f?download=1&token=" + LETTERS, SIGNED, "https://***"),
    ("https://b.s3.amazonaws.com/k?X-Amz-Date=1&X-Amz-Signature=" + "0a1b2c3d" * 8, SIGNED, "https://***"),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl", KEY, "-----BEGIN *** PRIVATE KEY-----"),
    ("/home/alice/models/x/imatrix.dat", HOME, "/home/a***"),
    ("/var/home/alice/x", HOME, "/var/home/a***"),
    ("/mnt/c/Users/Alice/x", HOME, "/mnt/c/Users/A***"),
    ("/Users/alice/Downloads", HOME, "/Users/a***"),
    ("/root/models/x", HOME, "/root/***"),
    (r"C:\Users\Alice\models", HOME, r"C:\Users/A***"),
    ("C:/Users/Alice/models", HOME, "C:/Users/A***"),
    ("merged from /home/alice/a and others", HOME, "/home/a***"),
    ("/models_out/Llama-3-GGUF/Llama.imatrix", PATH, "/models_out/***"),
    ("/training_dir/calibration_datav3.txt", PATH, "/training_dir/***"),
    (r"D:\work\calib.txt", PATH, "D:/***"),
    ("calibrated on /mnt/nvme0/calib.txt with 4 chunks", PATH, "/mnt/***"),
    (r"\\nas01\models\x", HOST, r"\\n***"),
    ("http://gpu01:8080/v1", HOST, "http://g***"),
    ("http://10.11.12.13/v1", HOST, "http://1***"),
    ("https://wiki.lab.internal/page", HOST, "https://w***"),
    ("bob@gpu01:/data/x", LOGIN, "b***@***"),
    ("Alice <alice.b@lab.uni-x.edu>", EMAIL, "a***@***"),
    ("file:///home/alice/x", HOME, "/home/a***"),
    ("file:///data/base/x", PATH, "/data/***"),
    ("../../home/alice/x", HOME, "/home/a***"),
    (r"\\wsl$\Ubuntu\home\alice\x", HOME, r"\\wsl$\Ubuntu\home/a***"),
    (r"calibrated on D:\work\secret\model.bin today", PATH, "D:/***"),
    ("http://34.120.5.6/model", HOST, "http://3***"),
    ("http://[fe80::1]:8080/x", HOST, "http://[***"),
    ("https://gpu.tail1234.ts.net/", HOST, "https://g***"),
    ("nas01:/export/models/x", HOST, "n***:/***"),
    ("trained on 192.168.1.17", HOST, "1***"),
    ("10.1.2.3:8080", HOST, "1***"),
]
# As public uploads have them.
ORDINARY = [
    "",
    "llama",
    "Smollm2 135M 8k Lc100K Mix1 Ep2",
    "apache-2.0",
    "https://huggingface.co/HuggingFaceTB/SmolLM2-135M",
    "https://huggingface.co/mradermacher/model_requests",
    "https://hf.co/unsloth",
    "git@github.com:ggml-org/llama.cpp.git",
    "https://ai.google.dev/gemma/terms?hl=en&key=1",
    "and/or, true/false, 3/4, 10/2024",
    "/no_think",
    "/think /no_think",
    "A model of @someone for chat: use <|im_start|> and </think>.",
    "Q4_K_M",
    "models/calib.txt",
    "calibration_datav3.txt",
    "Unsloth:2.0",
    "sk-learn, task-oriented and risk-averse-but-not-a-token-at-all",
    "hf_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c",
    "http://localhost:8080/ and http://127.0.0.1/",
    "arXiv:2401.02954",
    "doi:10.48550/arXiv.2401.02954",
    "hf://zai-org/GLM-5",
    "version 10.1.2.3 of 2026",
    "For licensing contact license@deepseek.com, or model-support@nvidia.com",
    r"C:\> is a prompt",
    r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+",
    "file:///models",
]
TEMPLATES = [
    "{%- for message in messages %}{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}",
    "{{ 'Q:\\n\\nA:\\n' }}{% if x %}C:\\n{% endif %}",
    "The drive at '/mnt/data' can be used to save and persist user files. Files in /home/user and /tmp/x are kept.",
    'e.g. {"email": "user@example.com", "to": "john.doe@example.org", "path": "/home/user/file.txt"}',
    "{{ raise_exception('See http://server/docs for tools@this:/model') }}",
    "{# https://huggingface.co/docs/transformers/chat_templating?highlight=token #}",
    '<|tool_call|>{"url": "https://api.example.com/v1?city=Paris"}</tool_call>',
    "{{ bos_token }}{{ tokens|join('/') }}{{ 'a/b/c' }}",
    "e.g. john.doe@gmail.com, jane@acme.io, C:\\Users\\JohnDoe\\file.txt, https://user:password@example.com/",
]


@pytest.mark.parametrize(("text", "kind", "shown"), LEAKS)
@pytest.mark.parametrize("frame", ["{}", "see {} there"])
def test_each_kind_is_found_and_masked(text, kind, shown, frame):
    """Alone and inside of a sentence, once, and what is shown does not give it away."""
    if frame != "{}" and kind == PATH and not text.startswith("calibrated"):
        return  # only a whole value is a path wherever it begins
    found = find_leaks(frame.format(text), template=False)
    assert [(leak.kind, leak.shown) for leak in found] == [(kind, shown)]
    assert text not in found[0].shown
    assert LETTERS[:8] not in found[0].shown


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_metadata_has_no_finding(text):
    """What public uploads say of themselves."""
    assert find_leaks(text, template=False) == ()


@pytest.mark.parametrize("text", TEMPLATES)
def test_a_chat_template_has_no_finding(text):
    """Jinja, examples in prompts, and folders of a sandbox."""
    assert find_leaks(text, template=True) == ()


@pytest.mark.parametrize("text", [*TOKENS.values(), "/home/alice/x", r"C:\Users\Alice\x", "https://a:b12@c.de/"])
def test_a_secret_in_a_chat_template_is_found(text):
    """It is searched as text."""
    assert len(find_leaks("{{ x }}" + "\n# " + text + "\n{% endif %}", template=True)) == 1


def test_several_in_one_text_are_found_in_their_order():
    """Each by its own range."""
    text = f"/home/alice/x {TOKENS['hf_***']} bob@lab.edu"
    assert [text[leak.start : leak.end] for leak in find_leaks(text, template=False)] == [
        "/home/alice",
        TOKENS["hf_***"],
        "bob@lab.edu",
    ]


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "a.",
        "a@",
        "/a",
        "/home/",
        "\\\\a\\",
        "eyJ",
        "eyJa.",
        "http://",
        "http://a",
        "-",
        "sk-",
        "?token=",
        " ",
        "-----BEGIN ",
    ],
)
def test_a_long_text_is_read_to_its_end(piece):
    """A pattern that goes back over what it read would take hours here."""
    text = piece * (2**20 // len(piece))
    for template in (False, True):
        assert all(0 <= leak.start < leak.end <= len(text) for leak in find_leaks(text, template=template))


def test_a_token_inside_of_a_path_is_a_token():
    """What gives access is told first."""
    text = f"/srv/git/{TOKENS['hf_***']}/x"
    assert [leak.kind for leak in find_leaks(text, template=False)] == [TOKEN]
