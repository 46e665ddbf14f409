"""English text that ships with the suite: prompts, and the fixed tokens that a timed decode is fed.

Written for this project and placed in the public domain, so that no licence travels with a prompt. Plain ASCII
without apostrophes and hyphens: every word is then one token of the sample model's vocabulary.
"""

from __future__ import annotations

_LIGHTHOUSE = """
The keeper of the northern light climbed two hundred steps every evening, and he counted each of them aloud. Wind
pressed on the tower until the stones hummed. At the top he trimmed the wick, wiped salt from the great lens, and
wound the clock that turned it. Ships far out on the water saw one white flash, then darkness, then two short ones,
and by this pattern their captains knew which coast lay ahead. In winter the stairs grew ice, so he carried ashes in
a bucket and spread them before his boots. Nobody thanked him, because nobody came. Yet when the fog finally lifted
in spring, a small boat arrived with letters from eleven harbours, each describing the same night, the same storm,
and the light that had not gone out.
"""

_BREAD = """
Bread begins long before the oven is warm. Mix flour with cool water and leave it alone for an hour, since patience
does part of the kneading for you. Add salt, then a spoon of lively starter, and fold the dough over itself four
times. Each fold builds strength, as rope gains strength from twisting. Let it rest under a damp cloth through the
night. By morning it should tremble when the bowl is moved, full of slow bubbles. Shape it gently, without pressing
out the air, and give it another hour near the window. Heat an iron pot until drops of water dance on its lid. Bake
the loaf covered for half the time and open for the rest. When the crust sings as it cools, resist the knife; the
crumb inside is still setting, and a hungry cook spoils more loaves than a poor recipe.
"""

_STORAGE = """
A large model need not live in memory all at once. Each token wakes a few experts in every layer, and only their
pages travel from the drive into memory. The operating system keeps recent pages as long as there is room, so popular
experts are soon served without any reading. What remains is a stream of small requests, and the speed of that stream
decides how quickly words appear. A drive that is fast in long sequential reads may still be slow here, because the
requests are scattered and each one waits for the router. Reading ahead helps when neighbouring bytes are wanted, and
wastes bandwidth when they are not. Therefore measure the machine with the pattern of the real work, first with an
empty cache and then with a warm one, and trust neither number until it repeats.
"""

_MOUNTAIN = """
Above the last trees the path divides. One branch follows a ridge of broken slate and reaches the summit in three
hours if the weather is kind. The other winds through a valley where a glacier once rested, past ponds so clear that
the stones on the bottom seem to float. Guides prefer the valley. It is longer, but it offers shelter, and clouds
gather on the ridge soon after noon. Carry wool, a map, a whistle, and more water than you expect to drink. If the
marmots stop calling, look up: either an eagle is hunting or the sky is about to change. At the old stone hut, write
your name in the book and the hour of your departure. The page is read every evening by someone who will come looking
for you, and that is the most valuable piece of equipment on the mountain.
"""

_CLOCK = """
Before railways, every town kept its own noon. A traveller going west would find the church clocks a few minutes
behind his watch, and nobody was troubled by it. Trains changed this. Two engines on a single track must agree about
time, or they will meet where they should pass. At first each company printed tables in the time of its main station,
and a large junction might show four clocks side by side. Passengers missed their trains with perfect confidence.
Eventually the telegraph carried one signal to every platform, and local noon disappeared within a generation. Some
cities resisted, and set a second minute hand on the town hall for those who would not surrender the sun. Today we
correct our clocks by comparing atoms, and still we ask the same question: whose noon shall everyone obey?
"""

_GARDEN = """
A garden teaches arithmetic without numbers. Plant beans too close and they steal light from each other; leave too
much space and weeds accept the invitation. Compost looks like waste until the second summer, when tomatoes grow heavy
where the heap used to stand. Water early, because leaves that stay wet through the night invite mildew. Keep a corner
wild for beetles and toads, who work longer hours than any gardener. In autumn, resist tidying everything: hollow stems
shelter bees, and fallen apples feed thrushes when frost has locked the ground. Write down what failed and why. Memory
is generous to our mistakes, and by the following March we are ready to repeat them. A notebook with muddy thumbprints
is worth more than a shelf of handsome books about roses.
"""

_MUSIC = """
An orchestra tunes to the oboe because its note is steady and hard to ignore. One player breathes, the others listen,
and within a minute eighty instruments agree about a single frequency. This small ceremony hides a bargain. A piano
cannot be tuned to please every key; perfect fifths, stacked twelve high, overshoot the octave by a tiny interval that
ancient theorists called the comma. Somebody must absorb the error. Early builders hid it in keys that were seldom
played, where chords howled like wolves. Later the error was spread evenly, so that each fifth is slightly false and
none offends. Listeners now hear this compromise as purity. Singers without accompaniment drift back toward the older
intervals, sweet and narrow, and end a long piece a little lower than they began, having followed their ears down.
"""

_OCEAN = """
Far below the reach of sunlight the ocean is not silent. Whales speak there across entire basins, using a layer of
cold water that bends sound back upon itself and carries it like a pipe. Shrimp crackle, ice groans, and somewhere a
volcano mutters for weeks. Scientists lower microphones on long cables and leave them for a year. When the recordings
return, most hours contain only the hush of distant waves, but patient listening finds seasons in the noise. Ships
pass above on fixed roads and drown everything for miles. During one quiet spring, when trade slowed, calls were heard
from animals that had been thought absent for decades. They had not returned; they had merely become audible again.
Many discoveries are like that: nothing arrives, and something that covered it goes away.
"""

_MARKET = """
On Thursday the market fills the square before dawn. Farmers unload crates by lantern, argue about the best corner,
and drink coffee from metal cups that burn the fingers. The cheese seller cuts a thin slice for every child and never
for an adult, a policy which has brought her three generations of loyal customers. Prices are chalked on slate and
change twice before lunch. A man repairs umbrellas beside the fountain; he also repairs arguments, quietly, while he
threads his needle. Strangers who hurry pay more, and strangers who ask about the harvest pay less. By two in the
afternoon the stalls are gone. Sparrows inherit the crumbs, a boy sweeps straw toward the drain, and the square looks
as empty as a theatre in the morning, holding nothing but the smell of oranges and rain.
"""

_BRIDGE = """
Every bridge is an argument with gravity, and the arch is the oldest good answer. Cut stones lean against one another,
each trying to fall and each preventing it. While the work is unfinished, a timber frame must carry the whole weight,
which is why builders feared floods more than any enemy. The day the last stone enters the crown, the frame is
loosened by a finger width. The arch sighs, settles, and begins to hold itself. From then on load makes it stronger,
because pressure closes the joints. Iron allowed thinner lines, and steel cable allowed spans that the old masters
would have called miracles, but the question never changed: where does the force go? Follow it patiently from the
road to the rock, and leave no step of the journey to hope.
"""

_POST = """
The village post office closed for the third time in its history, and for the third time it failed to stay closed.
People left parcels on the counter anyway. The baker stamped them, since he was awake, and the teacher drove them to
town on Fridays. Soon there was a jar for coins, a ledger for promises, and a cat that slept on the scale and added
half a kilogram to everything. When an inspector came to collect the brass sign, he found a queue. He waited his turn,
as anyone would, and by the time he reached the front he had heard about two weddings, a lost tractor, and the proper
way to store walnuts. His report was brief. It said the office could not be found, which was true, for by then it was
no longer a place but a habit.
"""

_NIGHT = """
To see faint stars, look slightly beside them. The centre of the eye is made for colour and detail and is nearly blind
in the dark, while the edges gather light with patience. Give them half an hour, and use no lamp except a dim red one.
First the familiar figures appear, then dust between them, and at last the long pale river that our ancestors explained
with milk, straw, and the road of souls. It is the disc of our own galaxy, seen from inside, as a swimmer sees a lake.
The light of its nearest arm left home when people here were learning to farm. Nothing you own is so old, and it asks
no price but darkness. Turn away from the town, let your breath grow slow, and wait until the sky stops being flat.
"""

_ALL = (
    _LIGHTHOUSE,
    _BREAD,
    _STORAGE,
    _MOUNTAIN,
    _CLOCK,
    _GARDEN,
    _MUSIC,
    _OCEAN,
    _MARKET,
    _BRIDGE,
    _POST,
    _NIGHT,
)


def passages() -> tuple[str, ...]:
    """Give twelve passages of 120 words or more, each one line, on subjects far apart."""
    return tuple(" ".join(passage.split()) for passage in _ALL)
