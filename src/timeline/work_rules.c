/* work_rules.c - which device work is communication. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "timeline/states_build.h"

/* In the order of trial: what comes later decides. */
static const char *const builtin_rules[] = {
	/* libraries of collectives */
	"*nccl*",
	"*rccl*",
	"*hccl*",
	"hcom_*",
	"*oneccl*",
	"*msccl*",
	"*nvshmem*",
	"*rocshmem*",
	"*roc_shmem*",
	/* by what they do, whoever wrote them */
	"*allreduce*",
	"*all_reduce*",
	"*allgather*",
	"*all_gather*",
	"*reducescatter*",
	"*reduce_scatter*",
	"*alltoall*",
	"*all_to_all*",
	"*all2all*",
	"*sendrecv*",
	"*send_recv*",
	"*cross_device_reduce*",
	"*cross_device_store*",
	"*one_shot*reduce*",
	"*two_shot*reduce*",
	"*quickreduce*",
	"*quick_reduce*",
	"*lamport*",
	"*multimem_*",
	"*symm_mem*",
	"*symmetric_memory*",
	/* experts on other devices */
	"*deep_ep::*",
	"*::ep::*dispatch*",
	"*::ep::*combine*",
	"*::ep::internode*",
	"*::ep::intranode*",
	"*::internode::*",
	"*::intranode::*",
	"*::internode_ll::*",
	"*epdispatch*kernel*",
	"*epcombine*kernel*",
	"*moe_a2a*",
	"*moea2a*",
	/* these only prepare it */
	"!*deep_ep::layout::*",
	"!*::ep::layout::*",
};

struct rule {
	const char *text; /* a copy of the caller's, except for built-in ones */
	size_t size;
	bool take_back;
};

struct work_rules {
	struct rule *rules; /* those that were added */
	size_t count;
};

size_t pattern_fold(char *out, const char *text, size_t size)
{
	size = size < PATTERN_TEXT_MAX ? size : PATTERN_TEXT_MAX;
	for (size_t i = 0; i < size; i++)
		out[i] = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] + ('a' - 'A')) : text[i];
	return size;
}

/* Where in the text, from `at` on, what follows a * can begin: where its letters up to the next sign are. */
static size_t next_place(const char *pattern, size_t pattern_size, const char *text, size_t at, size_t size)
{
	const char *found;
	size_t run = 0;

	while (run < pattern_size && pattern[run] != '*' && pattern[run] != '?')
		run++;
	if (at > size || run == 0)
		return at > size ? SIZE_MAX : at;
	found = memmem(text + at, size - at, pattern, run);
	return found ? (size_t)(found - text) : SIZE_MAX;
}

/* When it goes wrong after a *, that * takes more letters: only the last one has to, so this is never worse than the
 * product of both sizes. */
bool pattern_matches(const char *pattern, size_t pattern_size, const char *text, size_t size)
{
	size_t p = 0, i = 0, star = SIZE_MAX, resume = 0;

	while (p < pattern_size || i < size) {
		bool is_star = p < pattern_size && pattern[p] == '*';

		if (!is_star && p < pattern_size && i < size && (pattern[p] == '?' || pattern[p] == text[i])) {
			p++;
			i++;
			continue;
		}
		if (!is_star && star == SIZE_MAX)
			return false;
		star = is_star ? p : star;
		p = star + 1;
		if (p == pattern_size)
			return true;
		resume = next_place(pattern + p, pattern_size - p, text, is_star ? i : resume + 1, size);
		if (resume == SIZE_MAX)
			return false;
		i = resume;
	}
	return true;
}

static struct rule make_rule(const char *pattern)
{
	bool take_back = *pattern == '!';

	return (struct rule){ .text = pattern + take_back, .size = strlen(pattern + take_back), .take_back = take_back };
}

static bool rule_matches(const struct rule *rule, const char *name, size_t size)
{
	return pattern_matches(rule->text, rule->size, name, size);
}

int work_rules_new(struct work_rules **ret)
{
	struct work_rules *rules = calloc(1, sizeof *rules);

	if (!rules)
		return -ENOMEM;
	*ret = rules;
	return 0;
}

void work_rules_free(struct work_rules *rules)
{
	if (!rules)
		return;
	for (size_t i = 0; i < rules->count; i++)
		free((char *)rules->rules[i].text);
	free(rules->rules);
	free(rules);
}

int work_rules_add(struct work_rules *rules, const char *pattern)
{
	struct rule rule = make_rule(pattern), *grown;
	char *copy;

	if (!rule.size)
		return -EINVAL;
	if (rule.size > WORK_PATTERN_MAX || rules->count >= WORK_RULES_MAX)
		return -E2BIG;
	copy = strdup(rule.text);
	if (!copy)
		return -ENOMEM;
	grown = realloc(rules->rules, (rules->count + 1) * sizeof *grown);
	if (!grown) {
		free(copy);
		return -ENOMEM;
	}
	pattern_fold(copy, copy, rule.size);
	rule.text = copy;
	rules->rules = grown;
	rules->rules[rules->count++] = rule;
	return 0;
}

bool work_rules_communication(const struct work_rules *rules, const char *name, size_t size)
{
	char folded[PATTERN_TEXT_MAX];

	size = pattern_fold(folded, name, size);
	for (size_t i = rules ? rules->count : 0; i-- > 0;)
		if (rule_matches(&rules->rules[i], folded, size))
			return !rules->rules[i].take_back;
	for (size_t i = sizeof builtin_rules / sizeof *builtin_rules; i-- > 0;) {
		struct rule rule = make_rule(builtin_rules[i]);

		if (rule_matches(&rule, folded, size))
			return !rule.take_back;
	}
	return false;
}
