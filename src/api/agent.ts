import { z } from 'zod';
import {
  type apiVersion,
  conditionSchema,
  dnsLabel,
  group,
  type KubeObject,
  type Resource,
  version,
} from './meta.ts';

export const agentResource: Resource = { group, version, kind: 'Agent', plural: 'agents', namespaced: true };

const shortText = z.string().max(1024);
const commandLine = z.array(z.string().max(4096)).min(1).max(256);
const seconds = z.int().min(0).max(31_536_000);

export const runtimeSchema = z.object({
  class: z.enum(['Auto', 'Pod', 'Bwrap', 'Seatbelt', 'Container', 'Process']).default('Auto'),
  image: shortText.optional(),
  resources: z
    .object({
      limits: z.record(z.string().max(63), z.string().max(32)).optional(),
      requests: z.record(z.string().max(63), z.string().max(32)).optional(),
    })
    .optional(),
  replicas: z.int().min(0).max(100).default(1),
  suspend: z.boolean().default(false),
  idleAfterSeconds: seconds.default(0),
});

export const codeSchema = z.object({
  /** Folder on the host, relative to the workspace. Host drivers only. */
  path: z.string().max(4096).optional(),
  inline: z.record(z.string().max(255), z.string().max(262_144)).optional(),
});

export const lifecycleSchema = z.object({
  preinstall: commandLine.optional(),
  /** Runs in a sandbox of its own whose egress is the package hosts; fills a cache the agent sees read-only. */
  install: commandLine.optional(),
  postinstall: commandLine.optional(),
});

export const envVarSchema = z.object({
  name: z
    .string()
    .min(1)
    .max(255)
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/),
  value: z.string().max(32_768).optional(),
  valueFrom: z
    .object({
      secretKeyRef: z.object({ name: dnsLabel, key: shortText, optional: z.boolean().optional() }).optional(),
      configMapKeyRef: z
        .object({ name: dnsLabel, key: shortText, optional: z.boolean().optional() })
        .optional(),
    })
    .optional(),
});

export const networkSchema = z.object({
  egress: z
    .array(
      z.object({
        /** Host name, exact or with one leading `*.`; matched without case. */
        host: z.string().max(253).optional(),
        cidr: z.string().max(64).optional(),
        ports: z.array(z.int().min(1).max(65_535)).max(32).optional(),
      }),
    )
    .max(64)
    .default([]),
});

export const agentSpecSchema = z.object({
  role: dnsLabel.optional(),
  runtime: runtimeSchema.prefault({}),
  code: codeSchema.optional(),
  command: commandLine.optional(),
  lifecycle: lifecycleSchema.optional(),
  env: z.array(envVarSchema).max(256).optional(),
  mcp: z.record(z.string(), z.unknown()).optional(),
  network: networkSchema.prefault({}),
  dependsOn: z
    .array(z.object({ name: dnsLabel, wait: z.enum(['Ready', 'None']).default('Ready') }))
    .max(64)
    .optional(),
});

export const agentStatusSchema = z.object({
  observedGeneration: z.int().min(0).optional(),
  conditions: z.array(conditionSchema).max(16).optional(),
  runtime: shortText.optional(),
  replicas: z.int().min(0).optional(),
  selector: shortText.optional(),
  restarts: z.int().min(0).optional(),
  endpoints: z
    .array(
      z.object({
        name: z.string().max(253),
        uid: z.string().max(128),
        /** `unix:/path` or `host:port`. */
        address: z.string().max(512),
        ready: z.boolean(),
        terminating: z.boolean(),
      }),
    )
    .max(100)
    .optional(),
  toolCount: z.int().min(0).optional(),
  toolsDigest: z.string().max(64).optional(),
  agentServerVersion: z.string().max(64).optional(),
});

export type AgentSpec = z.infer<typeof agentSpecSchema>;
export type AgentStatus = z.infer<typeof agentStatusSchema>;
/** An Agent with its defaults filled in, as the API server returns it. */
export interface Agent extends KubeObject {
  apiVersion: typeof apiVersion;
  kind: 'Agent';
  spec: AgentSpec;
  status?: AgentStatus;
}
