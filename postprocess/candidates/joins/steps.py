"""Join what one text is, part what several are: all steps in their order."""

from __future__ import annotations

from postprocess.candidates.candidate import Candidate
from postprocess.candidates.joins.alone import join_bands, join_centred, join_labels, join_open_heads
from postprocess.candidates.joins.crossing import join_crossed_columns, join_cut_columns, join_cut_rows
from postprocess.candidates.joins.parting import part_ruled_columns, part_texts, without_empty_columns
from postprocess.candidates.joins.unruled import join_unruled


def join_texts(candidate: Candidate) -> Candidate:
    """Part the cells that hold several texts, and join the slots whose borders texts or rulings deny.

    Where rulings enclose all cells only words that lie across a border deny it.

    Args:
        candidate: With its scene.

    Returns:
        The candidate, the very same one where nothing is to be done.

    >>> from postprocess.candidates.candidate import quads_to_candidate
    >>> from postprocess.candidates.scene import Scene
    >>> from postprocess.geometry.boxes import as_boxes, boxes_to_quads
    >>> from postprocess.geometry.rulings import Rulings
    >>> from postprocess.word import Word
    >>> places = boxes_to_quads([[5, 15, 45, 25], [60, 8, 70, 18], [60, 22, 70, 32]]).tolist()
    >>> scene = Scene(map(Word, ["Total", "7", "9"], places), Rulings(*2 * [as_boxes([])], 0.0, (0.0, 0.0), 10.0))
    >>> cells = boxes_to_quads([[0, 0, 50, 20], [50, 0, 99, 20], [0, 20, 50, 40], [50, 20, 99, 40]])
    >>> join_texts(quads_to_candidate(cells).in_scene(scene)).layout.owner.tolist()
    [[0, 1], [0, 2]]
    """
    if candidate.scene is None or not len(candidate.scene.words) or not candidate.layout.owner.size:
        return candidate
    always, where_open = (
        (part_texts, join_cut_rows),
        (join_unruled, join_open_heads, join_bands, join_centred, join_labels),
    )
    parted = candidate
    if not candidate.is_enclosed:
        parted = candidate.with_layout(part_ruled_columns(candidate))
        parted = parted.with_layout(without_empty_columns(parted))
    joined = join_cut_columns(parted.with_layout(join_crossed_columns(parted)))
    for step in always if candidate.is_enclosed else always + where_open:
        joined = joined.with_layout(step(joined))
    return joined
