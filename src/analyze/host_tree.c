/* host_tree.c - the tree of a thread's calls: slices of one name in one place are one node. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/host.h"
#include "base/array.h"

#define DEPTH_MOST 200u       /* what is deeper belongs to its ancestor at this depth: recursion has no end */
#define NODES_MOST (1u << 17)
#define FIRST_SLOTS 1024u

static uint32_t slot_of(const struct host_tree *tree, uint32_t parent, uint32_t name, uint8_t kind)
{
	uint64_t hash = ((uint64_t)parent << 32 | name) * 0x9e3779b97f4a7c15u + kind;
	uint32_t at = (uint32_t)(hash >> 40) & tree->mask;

	for (; tree->children[at]; at = (at + 1) & tree->mask) {
		const struct host_node *n = &tree->nodes[tree->children[at]];

		if (n->parent == parent && n->name == name && n->kind == kind)
			break;
	}
	return at;
}

static int grow_table(struct host_tree *tree)
{
	uint32_t slots = tree->children ? 2 * (tree->mask + 1) : FIRST_SLOTS;
	uint32_t *table = calloc(slots, sizeof *table);

	if (!table)
		return -ENOMEM;
	free(tree->children);
	tree->children = table;
	tree->mask = slots - 1;
	for (uint32_t i = 1; i < tree->count; i++)
		tree->children[slot_of(tree, tree->nodes[i].parent, tree->nodes[i].name, tree->nodes[i].kind)] = i;
	return 0;
}

static int add_node(struct host_tree *tree, const struct host_node *node)
{
	size_t capacity = tree->capacity;

	if (ARRAY_GROW(tree->nodes, capacity, (size_t)tree->count + 1) < 0)
		return -ENOMEM;
	tree->capacity = (uint32_t)capacity;
	tree->nodes[tree->count++] = *node;
	return 0;
}

/* The child of a node for a slice; the node itself where the tree has enough of them. */
static int child_of(struct host_tree *tree, struct host_names *names, uint32_t parent, uint32_t slice, uint32_t *ret)
{
	const struct timeline *t = names->t;
	const struct host_node *above = &tree->nodes[parent];
	uint32_t name = t->name[slice] < t->string_count ? t->name[slice] : 0, slot = slot_of(tree, parent, name, t->kind[slice]), flags;
	struct host_node node;
	int rc;

	*ret = parent;
	if (tree->children[slot]) {
		*ret = tree->children[slot];
		tree->nodes[*ret].count++;
		return 0;
	}
	if (above->depth >= DEPTH_MOST || tree->count >= NODES_MOST)
		return 0;
	flags = host_name_flags(names, t->kind[slice], name);
	node = (struct host_node){ .parent = parent, .name = name, .slice = slice, .kind = t->kind[slice], .count = 1,
				   .flags = flags | (above->flags & NODE_HANDED_DOWN), .depth = (uint16_t)(above->depth + 1) };
	node.place = flags & NODE_OWN ? tree->count : above->place;
	rc = add_node(tree, &node);
	if (rc)
		return rc;
	*ret = tree->count - 1;
	tree->children[slot] = *ret;
	return 2 * tree->count > tree->mask ? grow_table(tree) : 0;
}

int host_tree_build(struct host_tree *tree, const struct timeline *t, uint32_t track, struct host_names *names)
{
	uint32_t first = t->tracks[track].first, count = t->tracks[track].count;
	int rc;

	*tree = (struct host_tree){ .track = track };
	tree->node_of = calloc((size_t)count + 1, sizeof *tree->node_of);
	rc = tree->node_of ? add_node(tree, &(struct host_node){ .slice = TIMELINE_NONE }) : -ENOMEM;
	rc = rc ? rc : grow_table(tree);
	for (uint32_t i = 0; i < count && rc == 0; i++) {
		uint32_t parent = t->parent[first + i];

		rc = child_of(tree, names, parent != TIMELINE_NONE && parent - first < i ? tree->node_of[parent - first] : 0, first + i,
			      &tree->node_of[i]);
	}
	if (rc)
		host_tree_release(tree);
	return rc;
}

void host_tree_release(struct host_tree *tree)
{
	free(tree->nodes);
	free(tree->node_of);
	free(tree->children);
	*tree = (struct host_tree){ 0 };
}

uint32_t host_tree_at(const struct host_tree *tree, const struct timeline *t, int64_t time)
{
	uint32_t slice = timeline_at(t, tree->track, time);

	return slice == TIMELINE_NONE ? 0 : tree->node_of[slice - t->tracks[tree->track].first];
}

bool host_tree_is_inside(const struct host_tree *tree, uint32_t node, uint32_t above)
{
	while (node && node != above)
		node = tree->nodes[node].parent;
	return node == above;
}
