"""The shipped text and the tokenizer made from it."""

from streamworthy.sample.reference import load_reference
from streamworthy.sample.text import passages
from streamworthy.sample.vocabulary import ANSWER_PROMPT, ANSWER_TEXT, build_vocabulary, encode


def test_passages_are_long_and_distinct():
    """There are at least eight passages of 120 words, 4 KB in all, no two with the same beginning."""
    texts = passages()
    assert len(texts) >= 8
    assert all(len(text.split()) >= 120 for text in texts)
    assert sum(map(len, texts)) >= 4096
    assert len({text[:20] for text in texts}) == len(texts)


def test_every_byte_is_a_token():
    """The first 256 tokens spell the single bytes, so that any text can be written."""
    tokens = build_vocabulary().tokens
    assert len(set(tokens)) == len(tokens)
    assert all(len(token) == 1 for token in tokens[:256])


def test_merges_build_known_tokens():
    """Each merge joins two tokens into a third one."""
    vocabulary = build_vocabulary()
    known = set(vocabulary.tokens)
    for merge in vocabulary.merges:
        left, right = merge.split(" ")
        assert {left, right, left + right} <= known


def test_successors_are_one_cycle():
    """A greedy walk from any token visits all others before it repeats; the end of text is never reached."""
    vocabulary = build_vocabulary()
    end = len(vocabulary.tokens) - 1
    walk = [0]
    while (following := vocabulary.successors[walk[-1]]) != walk[0]:
        walk.append(following)
    assert sorted(walk) == list(range(end))
    assert vocabulary.successors[end] == end


def test_stored_answer_is_the_walk():
    """The stored reference is what the successors say after the prompt's last token, with no token twice."""
    reference = load_reference()
    walk = [reference.prompt_tokens[-1]]
    for _ in reference.answer_tokens:
        walk.append(build_vocabulary().successors[walk[-1]])
    assert tuple(walk[1:]) == reference.answer_tokens == encode(ANSWER_TEXT)
    assert reference.prompt_tokens == encode(ANSWER_PROMPT)
    assert len(set(reference.answer_tokens)) == len(reference.answer_tokens) >= 16


def test_answer_margin_is_well_above_the_noise():
    """The stored lead of the answer is at least ten times what engine options were seen to move."""
    reference = load_reference()
    assert reference.logit_margin >= 10 * reference.logit_noise
