"""A small transformer in plain JAX: embeddings, causal attention, layer norms, a multi-layer perceptron, Adam written out.

    jax_train.py [--steps 4] [--devices 1] [--width 256] [--layers 2]

With --devices N the batch is sharded over N devices of this one process (jax.sharding): XLA adds the all-reduces of the gradients. Every step is marked by no range:
Maya finds the steps by themselves. Ends with "ok".
"""

import argparse

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

HEADS = 4
VOCABULARY = 8192
LENGTH = 128


def normal(key, *shape):
    return jax.random.normal(key, shape, jnp.float32) * 0.02


def make_parameters(key, width, layers):
    keys = iter(jax.random.split(key, 2 + 4 * layers))
    parameters = {"tokens": normal(next(keys), VOCABULARY, width), "positions": normal(next(keys), LENGTH, width), "blocks": []}
    for _ in range(layers):
        parameters["blocks"].append({
            "norm1": {"scale": jnp.ones(width), "bias": jnp.zeros(width)},
            "norm2": {"scale": jnp.ones(width), "bias": jnp.zeros(width)},
            "qkv": normal(next(keys), width, 3 * width),
            "out": normal(next(keys), width, width),
            "up": normal(next(keys), width, 4 * width),
            "down": normal(next(keys), 4 * width, width),
        })
    return parameters


def layer_norm(norm, x):
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * norm["scale"] + norm["bias"]


def attention(block, x):
    batch, length, width = x.shape
    q, k, v = jnp.split((x @ block["qkv"]).reshape(batch, length, HEADS, -1), 3, axis=-1)
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(width // HEADS)
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v).reshape(batch, length, width) @ block["out"]


def loss_of(parameters, tokens):
    x = parameters["tokens"][tokens[:, :-1]] + parameters["positions"]
    for block in parameters["blocks"]:
        x = x + attention(block, layer_norm(block["norm1"], x))
        x = x + jax.nn.gelu(layer_norm(block["norm2"], x) @ block["up"]) @ block["down"]
    chances = jax.nn.log_softmax(x @ parameters["tokens"].T)
    return -jnp.take_along_axis(chances, tokens[:, 1:, None], -1).mean()


@jax.jit
def train_step(parameters, first, second, count, tokens):
    loss, gradients = jax.value_and_grad(loss_of)(parameters, tokens)
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradients)
    count = count + 1
    rate = 1e-3 * jnp.sqrt(1 - 0.999**count) / (1 - 0.9**count)
    parameters = jax.tree.map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + 1e-8), parameters, first, second)
    return loss, parameters, first, second, count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--batch", type=int, default=8, help="sequences on each device")
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--layers", type=int, default=2)
    arguments = parser.parse_args()

    devices = jax.devices()
    assert devices[0].platform == "gpu" and len(devices) >= arguments.devices, devices
    mesh = Mesh(np.array(devices[: arguments.devices]), ("data",))
    whole, parted = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("data"))
    make = jax.jit(make_parameters, static_argnums=(1, 2), out_shardings=whole)
    parameters = make(jax.random.PRNGKey(0), arguments.width, arguments.layers)
    zeros = jax.jit(lambda tree: jax.tree.map(jnp.zeros_like, tree), out_shardings=whole)
    first, second = zeros(parameters), zeros(parameters)
    count = jax.device_put(np.float32(0), whole)
    random = np.random.default_rng(0)
    for step in range(arguments.steps):
        batch = random.integers(0, VOCABULARY, (arguments.batch * arguments.devices, LENGTH + 1), dtype=np.int32)
        tokens = jax.device_put(batch, parted)
        loss, parameters, first, second, count = train_step(parameters, first, second, count, tokens)
        jax.block_until_ready(loss)
        print("step", step)
    assert sum(leaf.size for leaf in jax.tree.leaves(parameters)) == (
        VOCABULARY + LENGTH) * arguments.width + arguments.layers * (12 * arguments.width**2 + 4 * arguments.width)
    print("ok")


if __name__ == "__main__":
    main()
