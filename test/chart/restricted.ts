import { brokenRules } from '#test/contract/driver/restricted.ts';

/** A pod of this chart, with what is looked at. */
export interface PodSpec {
  readonly securityContext?: Security;
  readonly hostNetwork?: boolean;
  readonly hostPID?: boolean;
  readonly hostIPC?: boolean;
  readonly volumes?: readonly Readonly<Record<string, unknown>>[];
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly args?: readonly string[];
  readonly securityContext?: Security;
  readonly ports?: readonly {
    readonly name?: string;
    readonly containerPort?: number;
    readonly hostPort?: number;
  }[];
  readonly resources?: {
    readonly requests?: Readonly<Record<string, string>>;
    readonly limits?: Readonly<Record<string, string>>;
  };
}

interface Security {
  readonly runAsNonRoot?: boolean;
  readonly runAsUser?: number;
  readonly privileged?: boolean;
  readonly allowPrivilegeEscalation?: boolean;
  readonly readOnlyRootFilesystem?: boolean;
  readonly seccompProfile?: { readonly type: string };
  readonly capabilities?: { readonly drop?: readonly string[]; readonly add?: readonly string[] };
}

/** The rules that a pod breaks: those of the standard, as the cluster calls them, and ours beside it. */
export function restrictedViolations(pod: PodSpec): string[] {
  const containers = [...(pod.initContainers ?? []), ...pod.containers];
  return [...brokenRules({ spec: pod }), ...containers.flatMap(ownViolations)];
}

function ownViolations({ name, securityContext, resources }: Container): string[] {
  const rules: readonly (readonly [boolean, string])[] = [
    [securityContext?.readOnlyRootFilesystem === true, 'its root file system can be written'],
    [resources?.requests?.['memory'] !== undefined, 'requests no memory'],
    [resources?.limits?.['memory'] !== undefined, 'has no memory limit'],
  ];
  return rules.filter(([holds]) => !holds).map(([, text]) => `container ${name}: ${text}`);
}
