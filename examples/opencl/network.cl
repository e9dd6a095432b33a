/*
 * network.cl - the layers of a small convolutional network, for classify.c and detect.py.
 *
 * Arrays are [image][channel][row][column].  The dimensions of a launch are pixel, channel and image; a launch for some of the
 * images has an offset in the third.  No product is contracted with a sum, so that a layer in one kernel and in three gives the
 * same bits.
 */
#pragma OPENCL FP_CONTRACT OFF

/* 3 by 3 pixels of all channels, with zeros around the image. */
float convolve(global const float *images, global const float *weights, int channels, int side, int stride)
{
	const int out_side = side / stride;
	const int row = (int)get_global_id(0) / out_side * stride, column = (int)get_global_id(0) % out_side * stride;
	global const float *image = images + get_global_id(2) * channels * side * side;
	float sum = 0;

	weights += get_global_id(1) * channels * 9;
	for (int c = 0; c < channels; c++)
		for (int y = -1; y <= 1; y++)
			for (int x = -1; x <= 1; x++)
				if (row + y >= 0 && row + y < side && column + x >= 0 && column + x < side)
					sum += weights[c * 9 + (y + 1) * 3 + x + 1] * image[(c * side + row + y) * side + column + x];
	return sum;
}

size_t out_index(void)
{
	return (get_global_id(2) * get_global_size(1) + get_global_id(1)) * get_global_size(0) + get_global_id(0);
}

kernel void convolution(global const float *images, global const float *weights, global float *out, int channels, int side, int stride)
{
	out[out_index()] = convolve(images, weights, channels, side, stride);
}

kernel void add_bias(global float *out, global const float *bias)
{
	out[out_index()] += bias[get_global_id(1)];
}

kernel void rectify(global float *out)
{
	out[out_index()] = fmax(out[out_index()], 0.0f);
}

/* The three in one. */
kernel void layer(global const float *images, global const float *weights, global const float *bias, global float *out, int channels,
		  int side, int stride)
{
	out[out_index()] = fmax(convolve(images, weights, channels, side, stride) + bias[get_global_id(1)], 0.0f);
}

/* How well each class fits a pixel: [image][pixel][class].  One work item has all classes of a pixel. */
kernel void classes(global const float *images, global const float *weights, global float *out, int channels, int count)
{
	const size_t pixel = get_global_id(0), pixels = get_global_size(0);
	float largest = -INFINITY, sum = 0;

	images += get_global_id(2) * channels * pixels + pixel;
	out += (get_global_id(2) * pixels + pixel) * count;
	for (int k = 0; k < count; k++) {
		out[k] = 0;
		for (int c = 0; c < channels; c++)
			out[k] += weights[k * channels + c] * images[c * pixels];
		largest = fmax(largest, out[k]);
	}
	for (int k = 0; k < count; k++) {
		out[k] = exp(out[k] - largest);
		sum += out[k];
	}
	for (int k = 0; k < count; k++)
		out[k] /= sum;
}
