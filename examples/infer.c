/*
 * infer.c - a small language model in C, profiled.
 *
 *      infer [PROMPT [TOKENS]]
 *
 * A decoder-only transformer with a key/value cache: layer norm, multi-head
 * attention, a GELU network, greedy sampling in a thread of its own.  The
 * weights come from a random generator with a fixed seed, so it talks
 * nonsense, always the same; but every multiplication of a real model is made.
 *
 * Only inferscope.h is needed to build it, and without a recorder it runs as
 * if the scopes were not there.
 */
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inferscope.h"

enum {
	LAYERS = 10,
	DIM = 512,
	HEADS = 8,
	HEAD_DIM = DIM / HEADS,
	HIDDEN = 4 * DIM,
	CONTEXT = 256,
	VOCAB = 64,
	FIRST_WORD = 30, /* tokens before it are letters */
	MEMORY = 12,     /* how many recent tokens the sampler avoids */
};

/* Tokens carry their leading space.  The first ones spell anything that the others do not. */
static const char *const vocabulary[VOCAB] = {
	"?",        "a",      "b",        "c",      "d",       "e",       "f",       "g",      "h",      "i",
	"j",        "k",      "l",        "m",      "n",       "o",       "p",       "q",      "r",      "s",
	"t",        "u",      "v",        "w",      "x",       "y",       "z",       " ",      ",",      ".",
	" the",     " of",    " and",     " a",     " to",     " in",     " is",     " it",    " where", " time",
	" goes",    " slow",  " fast",    " model", " kernel", " memory", " thread", " waits", " for",   " cache",
	" because", " light", " cold",    " river", " stone",  " moves",  " sleeps", " never", " only",  " when",
	" why",     " asks",  " answers", " data",
};

struct layer {
	float query[DIM * DIM], key[DIM * DIM], value[DIM * DIM], output[DIM * DIM];
	float up[DIM * HIDDEN], down[HIDDEN * DIM];
	float keys[CONTEXT * DIM], values[CONTEXT * DIM]; /* what earlier tokens left for later ones */
};

struct model {
	float tokens[VOCAB * DIM], positions[CONTEXT * DIM], head[DIM * VOCAB];
	struct layer layers[LAYERS];
};

struct activations { /* a row is a token */
	float stream[CONTEXT * DIM], normed[CONTEXT * DIM];
	float query[CONTEXT * DIM], mixed[CONTEXT * DIM], added[CONTEXT * DIM];
	float hidden[CONTEXT * HIDDEN];
};

/* Decoder and sampler take turns: logits one way, the chosen token the other. */
struct sampler {
	sem_t asked, answered;
	float logits[VOCAB];
	int token;
	bool done;
};

static void fill_random(float *out, size_t count, float scale, uint32_t *seed)
{
	for (size_t i = 0; i < count; i++) {
		*seed = *seed * 1664525u + 1013904223u;
		out[i] = scale * ((float)(*seed >> 8) / (float)(1 << 23) - 1.0f);
	}
}

static void load_weights(struct model *model)
{
	const float scale = sqrtf(3.0f / DIM);
	uint32_t seed = 2026;

	INFERSCOPE_SCOPE("load_weights");
	fill_random(model->tokens, VOCAB * DIM, 1.0f, &seed);
	fill_random(model->positions, CONTEXT * DIM, 0.5f, &seed);
	fill_random(model->head, DIM * VOCAB, scale, &seed);
	for (int i = 0; i < LAYERS; i++) {
		struct layer *layer = &model->layers[i];

		fill_random(layer->query, DIM * DIM, scale, &seed);
		fill_random(layer->key, DIM * DIM, scale, &seed);
		fill_random(layer->value, DIM * DIM, scale, &seed);
		fill_random(layer->output, DIM * DIM, scale, &seed);
		fill_random(layer->up, DIM * HIDDEN, scale, &seed);
		fill_random(layer->down, HIDDEN * DIM, 0.5f * scale, &seed);
	}
}

/* The longest token that the text starts with. */
static int match_token(const char *text, size_t *ret_length)
{
	int best = 0;

	*ret_length = 1;
	for (int i = 1; i < VOCAB; i++) {
		const size_t length = strlen(vocabulary[i]);

		if (strncmp(text, vocabulary[i], length) == 0 && (best == 0 || length > *ret_length)) {
			best = i;
			*ret_length = length;
		}
	}
	return best;
}

static int tokenize(const char *text, int *tokens, int limit)
{
	size_t length;
	int count = 0;

	INFERSCOPE_SCOPE("tokenize");
	for (; *text && count < limit; text += length)
		tokens[count++] = match_token(text, &length);
	return count;
}

/* out[rows][cols] = in[rows][inner] * weights[inner][cols] */
static void matmul(float *restrict out, const float *restrict in, const float *restrict weights, int rows, int inner,
		   int cols)
{
	INFERSCOPE_SCOPE("matmul");
	memset(out, 0, sizeof(*out) * (size_t)rows * (size_t)cols);
	for (int i = 0; i < inner; i++) {
		for (int row = 0; row < rows; row++) {
			const float factor = in[row * inner + i];

			for (int col = 0; col < cols; col++)
				out[row * cols + col] += factor * weights[i * cols + col];
		}
	}
}

static void layer_norm(float *restrict out, const float *restrict in, int rows)
{
	for (int row = 0; row < rows; row++, in += DIM, out += DIM) {
		float mean = 0, variance = 0;

		for (int i = 0; i < DIM; i++)
			mean += in[i] / DIM;
		for (int i = 0; i < DIM; i++)
			variance += (in[i] - mean) * (in[i] - mean) / DIM;
		for (int i = 0; i < DIM; i++)
			out[i] = (in[i] - mean) / sqrtf(variance + 1e-5f);
	}
}

static void softmax(float *scores, int count)
{
	float largest = -INFINITY, sum = 0;

	for (int i = 0; i < count; i++)
		largest = fmaxf(largest, scores[i]);
	for (int i = 0; i < count; i++)
		sum += scores[i] = expf(scores[i] - largest);
	for (int i = 0; i < count; i++)
		scores[i] /= sum;
}

/* One head of one token over the `seen` tokens up to and including it. */
static void attend(float *out, const float *query, const float *keys, const float *values, int seen)
{
	float scores[CONTEXT];

	for (int t = 0; t < seen; t++) {
		float dot = 0;

		for (int i = 0; i < HEAD_DIM; i++)
			dot += query[i] * keys[t * DIM + i];
		scores[t] = dot / sqrtf(HEAD_DIM);
	}
	softmax(scores, seen);
	memset(out, 0, sizeof(*out) * HEAD_DIM);
	for (int t = 0; t < seen; t++)
		for (int i = 0; i < HEAD_DIM; i++)
			out[i] += scores[t] * values[t * DIM + i];
}

static void attention(struct layer *layer, struct activations *a, int rows, int past)
{
	INFERSCOPE_SCOPE("attention");
	matmul(a->query, a->normed, layer->query, rows, DIM, DIM);
	matmul(layer->keys + past * DIM, a->normed, layer->key, rows, DIM, DIM);
	matmul(layer->values + past * DIM, a->normed, layer->value, rows, DIM, DIM);
	inferscope_scope_begin("softmax");
	for (int row = 0; row < rows; row++)
		for (int at = 0; at < DIM; at += HEAD_DIM)
			attend(a->mixed + row * DIM + at, a->query + row * DIM + at, layer->keys + at,
			       layer->values + at, past + row + 1);
	inferscope_scope_end();
	matmul(a->added, a->mixed, layer->output, rows, DIM, DIM);
}

static void feed_forward(struct layer *layer, struct activations *a, int rows)
{
	INFERSCOPE_SCOPE("feed_forward");
	matmul(a->hidden, a->normed, layer->up, rows, DIM, HIDDEN);
	inferscope_scope_begin("gelu");
	for (int i = 0; i < rows * HIDDEN; i++) {
		const float x = a->hidden[i];

		a->hidden[i] = 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
	}
	inferscope_scope_end();
	matmul(a->added, a->hidden, layer->down, rows, HIDDEN, DIM);
}

static void add_to_stream(struct activations *a, int rows)
{
	for (int i = 0; i < rows * DIM; i++)
		a->stream[i] += a->added[i];
}

/* Runs `rows` new tokens, after `past` earlier ones, through the model; leaves the last one's logits. */
static void forward(struct model *model, struct activations *a, const int *tokens, int rows, int past, float *logits)
{
	for (int row = 0; row < rows; row++)
		for (int i = 0; i < DIM; i++)
			a->stream[row * DIM + i] =
				model->tokens[tokens[row] * DIM + i] + model->positions[(past + row) * DIM + i];

	for (int i = 0; i < LAYERS; i++) {
		INFERSCOPE_SCOPE("layer");
		layer_norm(a->normed, a->stream, rows);
		attention(&model->layers[i], a, rows, past);
		add_to_stream(a, rows);
		layer_norm(a->normed, a->stream, rows);
		feed_forward(&model->layers[i], a, rows);
		add_to_stream(a, rows);
	}
	layer_norm(a->normed, a->stream + (rows - 1) * DIM, 1);
	matmul(logits, a->normed, model->head, 1, DIM, VOCAB);
}

/* The likeliest word that was not said just now. */
static int choose_token(const float *logits, const int *recent)
{
	int best = -1;

	for (int i = FIRST_WORD; i < VOCAB; i++) {
		bool said = false;

		for (int j = 0; j < MEMORY; j++)
			said |= recent[j] == i;
		if (!said && (best < 0 || logits[i] > logits[best]))
			best = i;
	}
	return best;
}

static int ask_sampler(struct sampler *s, const float *logits, int step)
{
	INFERSCOPE_SCOPE("wait_for_sampler");
	inferscope_flow_out("logits", step);
	memcpy(s->logits, logits, sizeof(s->logits));
	sem_post(&s->asked);
	sem_wait(&s->answered);
	return s->token;
}

/* Answers first, and prints while the decoder already works on the next token. */
static void *sampler_main(void *arg)
{
	struct sampler *s = arg;
	int recent[MEMORY] = { 0 };

	inferscope_thread_name("sampler");
	for (int step = 0; sem_wait(&s->asked) == 0 && !s->done; step++) {
		inferscope_scope_begin("sample");
		inferscope_flow_in("logits", step);
		const int token = recent[step % MEMORY] = s->token = choose_token(s->logits, recent);
		sem_post(&s->answered);
		inferscope_scope_end();

		inferscope_scope_begin("print");
		fputs(vocabulary[token], stdout);
		fflush(stdout);
		inferscope_scope_end();
	}
	return NULL;
}

static void generate(struct model *model, struct activations *a, struct sampler *s, const char *prompt, int wanted)
{
	int tokens[CONTEXT], token;
	float logits[VOCAB];
	const int count = tokenize(prompt, tokens, CONTEXT / 2);

	inferscope_mark_with("prompt", inferscope_string("text", prompt), inferscope_int("tokens", count));
	inferscope_scope_begin("prefill");
	forward(model, a, tokens, count, 0, logits);
	token = ask_sampler(s, logits, 0);
	inferscope_scope_end();
	inferscope_counter("tokens", 1);

	for (int step = 1; step < wanted; step++) {
		inferscope_scope_begin("decode");
		forward(model, a, &token, 1, count + step - 1, logits);
		token = ask_sampler(s, logits, step);
		inferscope_scope_end();
		inferscope_counter("tokens", step + 1);
	}
}

int main(int argc, char **argv)
{
	static struct model model;
	static struct activations activations;
	static struct sampler sampler;
	const char *prompt = argc > 1 && *argv[1] ? argv[1] : "where the time goes";
	const int wanted = argc > 2 ? atoi(argv[2]) : 96;
	pthread_t thread;

	if (argc > 3 || wanted < 1 || wanted > CONTEXT / 2) {
		fprintf(stderr, "usage: infer [PROMPT [TOKENS]], with 1 to %d tokens\n", CONTEXT / 2);
		return 2;
	}
	sem_init(&sampler.asked, 0, 0);
	sem_init(&sampler.answered, 0, 0);
	if (pthread_create(&thread, NULL, sampler_main, &sampler) != 0) {
		fputs("infer: cannot start the sampler thread\n", stderr);
		return 1;
	}
	inferscope_thread_name("decoder");
	load_weights(&model);
	fputs(prompt, stdout);
	generate(&model, &activations, &sampler, prompt, wanted);

	sampler.done = true;
	sem_post(&sampler.asked);
	pthread_join(thread, NULL);
	putchar('\n');
	return 0;
}
