// SPDX-License-Identifier: BSD-3-Clause
// Objects that wait: for scan lcores to prove something of them, and for a data lcore to tell that
// they are condemned.
#include "pipeline/swarm/swarm_work.h"

// ---- what is to be proven ----

void verify_push(struct swarm *swarm, struct object *object)
{
	uint32_t number = swarm_number_of(swarm, object);

	swarm_lock(&swarm->lock);
	if (!object->in_verify) {
		object->in_verify = true;
		object->verify_next = NONE;
		if (swarm->verify_last)
			swarm->objects[swarm->verify_last].verify_next = number;
		else
			atomic_store(&swarm->verify_first, number);
		swarm->verify_last = number;
	}
	swarm_unlock(&swarm->lock);
}

struct object *verify_pop(struct swarm *swarm)
{
	struct object *object = NULL;

	if (!atomic_load(&swarm->verify_first))
		return NULL;
	swarm_lock(&swarm->lock);
	uint32_t number = atomic_load(&swarm->verify_first);

	if (number) {
		object = &swarm->objects[number];
		object->in_verify = false;
		atomic_store(&swarm->verify_first, object->verify_next);
		if (!object->verify_next)
			swarm->verify_last = NONE;
		atomic_fetch_add(&object->refs, 1);
	}
	swarm_unlock(&swarm->lock);
	return object;
}

bool swarm_work_is_due(void *arg)
{
	struct swarm *swarm = arg;

	return atomic_load(&swarm->verify_first) != NONE;
}

// ---- what is to be told ----

void condemned_push(struct swarm *swarm, struct object *object)
{
	swarm_lock(&swarm->lock);
	object->condemned_next = atomic_load(&swarm->condemned_first);
	atomic_store(&swarm->condemned_first, swarm_number_of(swarm, object));
	atomic_fetch_add(&object->refs, 1);
	swarm_unlock(&swarm->lock);
}

bool swarm_condemned(struct swarm *swarm, struct content_id *id, uint32_t *flow)
{
	if (!atomic_load_explicit(&swarm->condemned_first, memory_order_relaxed))
		return false;
	swarm_lock(&swarm->lock);
	uint32_t number = atomic_load(&swarm->condemned_first);
	struct object *object = &swarm->objects[number];

	if (number) {
		atomic_store(&swarm->condemned_first, object->condemned_next);
		*id = object->id;
		*flow = swarm->files[object->infected].job.flow;
		atomic_fetch_sub(&object->refs, 1);
	}
	swarm_unlock(&swarm->lock);
	return number;
}
