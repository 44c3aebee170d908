import * as z from 'zod/mini';

/**
 * The document that a controller hands to an agent-server when it starts it: everything the agent-server
 * needs that is not in the agent's own files. On a host it comes through a file descriptor, in a pod
 * from a mounted Secret; it carries keys and is never written to disk in clear on a host.
 * In zod/mini, which starts in a fifth of the time: every agent-server loads it.
 */
export const agentServerConfigSchema = z.object({
  version: z.literal(1),
  agent: z.object({
    namespace: z.string(),
    name: z.string(),
    /** uid of the Agent object. */
    uid: z.string(),
    /** Which workload (pod uid or sandbox instance) this is: a token for another is refused. */
    instance: z.string(),
    /** Which replica it is, where there may be several; what stays with the replica's workspace is found by it. */
    slot: z.optional(z.int()),
    /** `agent:<namespace>/<name>`: the audience of every token for it. */
    principal: z.string(),
  }),
  /** Keys that verify invocation tokens and answer the router's challenge; the first one is current. At most two. */
  keys: z
    .array(z.object({ kid: z.string(), /** 32 bytes, base64url. */ secret: z.string() }))
    .check(z.minLength(1), z.maxLength(2)),
  /** `spec.mcp` as the Agent says it, defaults filled in. */
  mcp: z.optional(z.record(z.string(), z.unknown())),
  /** What `mcp.upstream.url` and a store of blobs are asked with; secret. New values are taken up while the agent-server runs. */
  upstream: z.optional(
    z.object({
      headers: z._default(z.record(z.string(), z.string()), {}),
      /** Names of those headers whose values come from Secrets: no log may show them. */
      secretHeaders: z.optional(z.array(z.string())),
      /** Of `mcp.upstream.oauth`; the key is in PEM. */
      clientSecret: z.optional(z.string()),
      privateKey: z.optional(z.string()),
      /** Authorities in place of the public ones, in PEM. */
      ca: z.optional(z.string()),
      /** Of `blobs.s3`. */
      blobs: z.optional(
        z.object({
          accessKeyId: z.string(),
          secretAccessKey: z.string(),
          sessionToken: z.optional(z.string()),
          /** Authorities in place of the public ones, in PEM. */
          ca: z.optional(z.string()),
        }),
      ),
    }),
  ),
  /** Environment of every tool, resource and upstream process; nothing else is inherited. */
  env: z.record(z.string(), z.string()),
  /** Names of those variables whose values no log may show. */
  secretEnv: z.optional(z.array(z.string())),
  /** Absolute paths as the agent-server sees them. */
  paths: z.object({ code: z.string(), workspace: z.string() }),
  /** Loopback listeners inside the workload that lead out of it. */
  forwards: z._default(
    z.array(
      z.object({
        /** Port on 127.0.0.1 inside. */
        listen: z.int(),
        /** Where the bytes go: `unix:/path` or `host:port`. */
        target: z.string(),
        /** Sent as Proxy-Authorization with each CONNECT; names the workload to the egress proxy. */
        proxyAuthorization: z.optional(z.string()),
      }),
    ),
    [],
  ),
  /** The agent's own main process, when the agent-server is its parent (host drivers). */
  command: z.optional(z.array(z.string())),
  limits: z._default(z.record(z.string(), z.number()), {}),
  /** `spec.storage.blobs`, in numbers. */
  blobs: z.optional(
    z.object({
      limits: z._default(
        z.object({
          maxBlobBytes: z.optional(z.number()),
          maxBytes: z.optional(z.number()),
          maxBlobs: z.optional(z.number()),
          ttlSeconds: z.optional(z.number()),
        }),
        {},
      ),
      /** A bucket for all replicas, in place of the workspace. */
      s3: z.optional(
        z.object({
          endpoint: z.string(),
          region: z.string(),
          bucket: z.string(),
          prefix: z.string(),
          pathStyle: z.boolean(),
        }),
      ),
    }),
  ),
});
export type AgentServerConfig = z.infer<typeof agentServerConfigSchema>;
export type UpstreamSecrets = NonNullable<AgentServerConfig['upstream']>;
