// The geometry of a convolution, read from Paddle's arguments.
#pragma once
#include "backend.h"

namespace tablerec {

struct Convolution {
  int64_t images, channels, height, width, out_channels, kernel_height, kernel_width, out_height, out_width, groups;
  int stride_y, stride_x, dilation_y, dilation_x, top, bottom, left, right;

  Convolution(const char* name, const phi::DDim& x, const phi::DDim& w, const std::vector<int>& strides,
              std::vector<int> paddings, const std::string& algorithm, const std::vector<int>& dilations, int group_count,
              const std::string& layout) {
    REQUIRE(layout == "NCHW" || layout == "AnyLayout", "%s: layout %s is not supported on %s; NCHW is", name, layout,
            device_name());
    images = x[0], channels = x[1], height = x[2], width = x[3];
    out_channels = w[0], kernel_height = w[2], kernel_width = w[3], groups = group_count;
    stride_y = strides[0], stride_x = strides[1], dilation_y = dilations[0], dilation_x = dilations[1];
    int span_y = dilation_y * (int(kernel_height) - 1) + 1, span_x = dilation_x * (int(kernel_width) - 1) + 1;
    if (paddings.size() == 2) paddings = {paddings[0], paddings[0], paddings[1], paddings[1]};
    if (algorithm == "VALID") paddings = {0, 0, 0, 0};
    if (algorithm == "SAME") {
      dilation_y = dilation_x = 1;  // Paddle's rule: SAME ignores dilations
      span_y = int(kernel_height), span_x = int(kernel_width);
      int y = to_keep_size(height, stride_y, span_y), z = to_keep_size(width, stride_x, span_x);
      paddings = {y / 2, y - y / 2, z / 2, z - z / 2};
    }
    top = paddings[0], bottom = paddings[1], left = paddings[2], right = paddings[3];
    out_height = (height + top + bottom - span_y) / stride_y + 1;
    out_width = (width + left + right - span_x) / stride_x + 1;
  }

  // The convolution whose input gradient a transposed convolution is: from its output `y` to its input `x`.
  static Convolution transposed(const char* name, const phi::DDim& x, const phi::DDim& w, const phi::DDim& y,
                                const std::vector<int>& strides, std::vector<int> paddings, std::string algorithm,
                                std::vector<int> dilations, int groups, const std::string& layout) {
    if (algorithm == "SAME") {  // Paddle's rule: the padding comes from the size of x
      int v = to_keep_size(x[2], strides[0], int(w[2])), h = to_keep_size(x[3], strides[1], int(w[3]));
      paddings = {v / 2, v - v / 2, h / 2, h - h / 2};
      dilations = {1, 1};
      algorithm = "EXPLICIT";
    }
    Convolution c(name, y, w, strides, paddings, algorithm, dilations, groups, layout);
    // Rows and columns that no place of x reaches (output_padding) are left over at the end.
    c.out_height = x[2], c.out_width = x[3];
    return c;
  }

  bool padded_evenly() const { return top == bottom && left == right; }
  // The same convolution of an input that holds its padding.
  Convolution of_padded() const {
    Convolution c = *this;
    c.height += top + bottom, c.width += left + right;
    c.top = c.bottom = c.left = c.right = 0;
    return c;
  }

  HOST_DEVICE int64_t group_in() const { return channels / groups; }
  HOST_DEVICE int64_t group_out() const { return out_channels / groups; }

  // The padding with which the output has ceil(size / stride) places.
  static int to_keep_size(int64_t size, int stride, int span) {
    return int(std::max<int64_t>(((size + stride - 1) / stride - 1) * stride + span - size, 0));
  }
};

}  // namespace tablerec
