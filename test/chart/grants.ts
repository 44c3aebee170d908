import type { KubeObject } from '#api/meta.ts';

/** One thing that one service account may do: the smallest piece of a role. */
export interface Grant {
  /** As the API server's audit log names it: `system:serviceaccount:NAMESPACE:NAME`. */
  readonly user: string;
  /** Where it holds; undefined: everywhere, and for what belongs to no namespace. */
  readonly namespace: string | undefined;
  readonly group: string;
  /** With its subresource: `agents/status`. */
  readonly resource: string;
  readonly verb: string;
  /** The only object; undefined: each. */
  readonly name: string | undefined;
  /** Kind and name of the role that says so. */
  readonly role: string;
}

export interface PolicyRule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

interface Role extends KubeObject {
  readonly rules?: readonly PolicyRule[];
}

interface Binding extends KubeObject {
  readonly roleRef: { readonly kind: string; readonly name: string };
  readonly subjects?: readonly {
    readonly kind: string;
    readonly name: string;
    readonly namespace?: string;
  }[];
}

/** Everything that the RBAC objects among `objects` give to service accounts. Throws for a binding without its role. */
export function grantsOf(objects: readonly KubeObject[]): Grant[] {
  const roles = objects.filter(isRole);
  return objects.filter(isBinding).flatMap((binding) => {
    const { kind, name } = binding.roleRef;
    const namespace = binding.kind === 'RoleBinding' ? binding.metadata.namespace : undefined;
    const role = roles.find(
      (one) =>
        one.kind === kind &&
        one.metadata.name === name &&
        (kind === 'ClusterRole' || one.metadata.namespace === namespace),
    );
    if (role === undefined)
      throw new Error(`${binding.kind} ${binding.metadata.name}: there is no ${kind} ${name}`);
    const users = (binding.subjects ?? []).filter((subject) => subject.kind === 'ServiceAccount');
    return users.flatMap((subject) =>
      grantsOfRules(role.rules ?? []).map((grant) => ({
        ...grant,
        user: `system:serviceaccount:${subject.namespace}:${subject.name}`,
        namespace,
        role: `${kind} ${name}`,
      })),
    );
  });
}

export function isRole(object: KubeObject): object is Role {
  return object.kind === 'Role' || object.kind === 'ClusterRole';
}

function isBinding(object: KubeObject): object is Binding {
  return object.kind === 'RoleBinding' || object.kind === 'ClusterRoleBinding';
}

function grantsOfRules(rules: readonly PolicyRule[]) {
  return rules.flatMap(({ apiGroups = [], resources = [], resourceNames, verbs }) => {
    const names: readonly (string | undefined)[] = resourceNames ?? [undefined];
    return apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        verbs.flatMap((verb) => names.map((name) => ({ group, resource, verb, name }))),
      ),
    );
  });
}
