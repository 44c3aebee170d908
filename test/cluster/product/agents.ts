import type { KubeObject } from '#api/meta.ts';

type Spec = Readonly<Record<string, unknown>>;

/** A tool that answers with what it was given, and with the name of the pod that ran it. */
export const echoTool = {
  name: 'echo',
  description: 'Answers with its arguments and the name of its pod.',
  command: 'printf "%s " "$(cat /etc/hostname)"; cat',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
};

export function agent(name: string, spec: Spec = {}): KubeObject & { spec: Spec } {
  return {
    apiVersion: 'ploinky.dev/v1alpha1',
    kind: 'Agent',
    metadata: { name },
    spec: { mcp: { tools: [echoTool] }, ...spec },
  };
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** What tests read of an Agent. */
export interface SeenAgent extends KubeObject {
  readonly spec: { readonly runtime?: { readonly replicas?: number } };
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly endpoints?: readonly {
      readonly name: string;
      readonly uid: string;
      readonly address: string;
      readonly ready: boolean;
    }[];
    readonly restarts?: number;
    readonly toolCount?: number;
    readonly codeRevision?: string;
  };
}

export function conditionOf(seen: SeenAgent | undefined, type: string): Condition | undefined {
  return seen?.status?.conditions?.find((condition) => condition.type === type);
}

export function isReady(seen: SeenAgent | undefined): boolean {
  return conditionOf(seen, 'Ready')?.status === 'True';
}
