"""PaddleX 3.7.2: its own way from cells to HTML (``use_*_table_cells_trans_to_html``), fed with tablerec's boxes.

No model runs: the boxes are suppressed, turned into a structure, and the words matched to them by the pipeline's
own functions. Its second reading of cells is off: all get the same words.
"""

from __future__ import annotations

from collections.abc import Callable

from serve import Answer, Job, quad_to_box, serve


def load() -> Callable[[Job], Answer]:
    """Import the pipeline, without its models."""
    import cv2
    import numpy as np
    from paddlex.inference.pipelines.table_recognition import pipeline_v2
    from paddlex.inference.pipelines.table_recognition.table_recognition_post_processing_v2 import (
        get_table_recognition_res,
    )

    pipeline = object.__new__(pipeline_v2._TableRecognitionPipelineV2)

    def recognize(job: Job) -> Answer:
        if not job["boxes"]:
            return {"html": ""}
        image = cv2.imread(job["image"])
        quads = np.array([word["quad"] for word in job["words"]]).reshape(-1, 4, 2)
        read = {
            "rec_polys": quads,
            "rec_boxes": np.array([quad_to_box(quad) for quad in quads.tolist()]).reshape(-1, 4),
            "rec_texts": [word["text"] for word in job["words"]],
            "rec_scores": np.array([word["score"] for word in job["words"]]),
            "doc_preprocessor_res": {"output_img": image},
        }
        boxes, _ = pipeline.cells_det_results_nms(job["boxes"], job["box_scores"])
        structure = pipeline.trans_cells_det_results_to_html(boxes)
        whole = [0, 0, image.shape[1], image.shape[0]]
        return {"html": get_table_recognition_res(whole, structure, boxes, read, {}, [], False, False)["pred_html"]}

    return recognize


if __name__ == "__main__":
    serve(load, ["paddlex"])
