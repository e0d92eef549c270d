/* FIPS 180-4. */
#include "helper.h"

#include <string.h>

static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t value, int count) { return value >> count | value << (32 - count); }

static uint32_t load(const uint8_t *at) {
  return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void one_block(uint32_t state[8], const uint8_t *bytes) {
  uint32_t w[64];
  for (int i = 0; i < 16; i++) w[i] = load(bytes + 4 * i);
  for (int i = 16; i < 64; i++) {
    uint32_t low = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
    uint32_t high = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
    w[i] = w[i - 16] + low + w[i - 7] + high;
  }
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
  uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
  for (int i = 0; i < 64; i++) {
    uint32_t choice = (e & f) ^ (~e & g);
    uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
    uint32_t first = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + choice + constants[i] + w[i];
    uint32_t second = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + majority;
    h = g, g = f, f = e, e = d + first;
    d = c, c = b, b = a, a = first + second;
  }
  const uint32_t after[8] = {a, b, c, d, e, f, g, h};
  for (int i = 0; i < 8; i++) state[i] += after[i];
}

static void process_blocks(uint32_t state[8], const uint8_t *bytes, size_t blocks) {
  for (; blocks > 0; blocks--, bytes += 64) one_block(state, bytes);
}

void sha256_init(struct sha256 *hash) {
  static const uint32_t initial[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  memcpy(hash->state, initial, sizeof initial);
  hash->length = 0;
  hash->held = 0;
}

void sha256_update(struct sha256 *hash, const void *data, size_t size) {
  const uint8_t *bytes = data;
  hash->length += size;
  if (hash->held > 0) {
    size_t room = sizeof hash->block - hash->held;
    size_t part = size < room ? size : room;
    memcpy(hash->block + hash->held, bytes, part);
    hash->held += part;
    bytes += part;
    size -= part;
    if (hash->held < sizeof hash->block) return;
    process_blocks(hash->state, hash->block, 1);
    hash->held = 0;
  }
  process_blocks(hash->state, bytes, size / 64);
  hash->held = size % 64;
  memcpy(hash->block, bytes + size - hash->held, hash->held);
}

void sha256_final(struct sha256 *hash, uint8_t digest[32]) {
  static const uint8_t padding[64] = {0x80};
  uint64_t bits = hash->length * 8;
  uint8_t length[8];
  for (int i = 0; i < 8; i++) length[i] = (uint8_t)(bits >> (56 - 8 * i));
  sha256_update(hash, padding, (hash->held < 56 ? 56 : 120) - hash->held);
  sha256_update(hash, length, sizeof length);
  for (int i = 0; i < 32; i++) digest[i] = (uint8_t)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}
