"""img2table 2.0.0 with its rotation on and borderless tables looked for; the largest table counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from serve import Answer, Job, quad_to_box, serve


def load() -> Callable[[Job], Answer]:
    """Import img2table; it has no model."""
    import cv2
    import img2table.document.rotation as rotation
    import numpy as np
    from img2table.document import Image
    from img2table.ocr._types import OCRData, OCRInstance

    angles: list[float] = []
    rotate = rotation.rotate_img_with_border

    def rotate_and_tell(img: Any, angle: float, **options: Any) -> Any:
        angles.append(angle)
        return rotate(img, angle, **options)

    rotation.rotate_img_with_border = rotate_and_tell

    class Words(OCRInstance):
        """The words of a job, turned as img2table turned the picture."""

        def __init__(self, words: list[dict[str, Any]], size_wh: tuple[int, int]) -> None:
            self.words, self.size_wh = words, size_wh

        def of(self, document: Any) -> OCRData:
            """The words as img2table has them."""
            height, width = document.images[0].shape[:2]
            matrix = np.array([[1.0, 0, 0], [0, 1, 0]])
            if angles:
                center = (self.size_wh[0] // 2, self.size_wh[1] // 2)
                matrix = cv2.getRotationMatrix2D(center, angles[-1], 1.0)
                matrix[:, 2] += (width / 2 - center[0], height / 2 - center[1])
            records = []
            for number, word in enumerate(self.words):
                x0, y0, x1, y1 = quad_to_box((np.array(word["quad"]) @ matrix[:, :2].T + matrix[:, 2]).tolist())
                place = {"x1": round(x0), "y1": round(y0), "x2": round(x1), "y2": round(y1)}
                name = {"id": f"word_{number}", "parent": f"word_{number}", "value": word["text"]}
                records.append({**name, "confidence": int(100 * word["score"]), **place})
            return OCRData(records={0: records})

    def recognize(job: Job) -> Answer:
        angles.clear()
        height, width = cv2.imread(job["image"]).shape[:2]
        picture = Image(job["image"], detect_rotation=True)
        tables = picture.extract_tables(
            Words(job["words"], (width, height)), implicit_rows=False, borderless_tables=True, min_confidence=1
        )
        boxes = [table.bbox for table in tables]
        areas = [(box.x2 - box.x1) * (box.y2 - box.y1) for box in boxes]
        return {"html": tables[areas.index(max(areas))].html if tables else ""}

    return recognize


if __name__ == "__main__":
    serve(load, ["img2table"])
