import { z } from 'zod';
import { agentName, bytes, listOf, milliseconds, setOf, text } from '../schema/fields.ts';

export const rateLimitSchema = z.strictObject({
  requestsPerMinute: z.int().min(1).max(10_000_000).describe('Requests in a minute.'),
  burst: z
    .int()
    .min(1)
    .max(1_000_000)
    .describe('Requests at once. Default: a tenth of requestsPerMinute.')
    .optional(),
  per: z.enum(['User', 'Address', 'Route']).describe('Who shares one allowance.').default('User'),
});

export const timeoutsSchema = z.strictObject({
  requestMilliseconds: milliseconds.describe('Limit of a request that is not a tool call.').optional(),
  callMilliseconds: milliseconds.describe('Limit of a tool call without any sign of life.').optional(),
  idleMilliseconds: milliseconds.describe('An idle stream is closed after this long.').optional(),
});

export const limitsSchema = z.strictObject({
  bodyBytes: bytes.min(1).describe('Largest request body.').optional(),
});

export const backendSchema = z.strictObject({
  deadlineMilliseconds: milliseconds
    .describe('How long an aggregated answer waits for one agent.')
    .default(5000),
  failureMode: z
    .enum(['Partial', 'Fail'])
    .describe('Partial: the answer names the agents that are missing. Fail: the whole answer is an error.')
    .default('Partial'),
});

const expressionSchema = z.strictObject({
  key: text(317).describe('Label.'),
  operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']).describe('What is asked.'),
  values: setOf(z.string().max(63), 64).describe('For In and NotIn.').optional(),
});

export const selectorSchema = z.strictObject({
  matchLabels: z
    .record(z.string().min(1).max(317), z.string().max(63))
    .refine((labels) => Object.keys(labels).length <= 32, 'must have at most 32 members')
    .meta({ maxProperties: 32 })
    .describe('Labels with their values, all of them.')
    .optional(),
  matchExpressions: listOf(expressionSchema, 32).describe('Conditions on labels, all of them.').optional(),
});

export const agentReferenceSchema = z.strictObject({
  name: agentName.describe('Name of an Agent in the same namespace.'),
});
