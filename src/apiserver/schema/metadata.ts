import type { OwnerReference } from '#api/meta.ts';
import { type FieldError, forbiddenField, invalidValue, required, tooLong } from '../field-error.ts';
import type { Kind } from '../kinds/kind.ts';
import { type ApiObject, equalJson, type Metadata } from '../object.ts';
import { labelValueProblems, qualifiedNameProblems } from './names.ts';

const totalAnnotationBytes = 256 * 1024;

/** Rules on `metadata` that hold for every kind (apimachinery's ValidateObjectMeta), for a new or changed object. */
export function validateMetadata(kind: Kind, object: ApiObject): FieldError[] {
  const meta = object.metadata;
  const errors: FieldError[] = [];
  if (meta.generateName) {
    for (const problem of kind.strategy.validateName(meta.generateName.replace(/-$/, 'a'))) {
      errors.push(invalidValue('metadata.generateName', meta.generateName, problem));
    }
  }
  if (!meta.name) errors.push(required('metadata.name', 'name or generateName is required'));
  else {
    for (const problem of kind.strategy.validateName(meta.name))
      errors.push(invalidValue('metadata.name', meta.name, problem));
  }
  return [
    ...errors,
    ...validateLabels(meta.labels ?? {}),
    ...validateAnnotations(meta.annotations ?? {}),
    ...validateOwners(meta.ownerReferences ?? []),
    ...validateFinalizers(meta.finalizers ?? []),
    ...(kind.group === '' ? validateCoreFinalizers(meta.finalizers ?? []) : []),
  ];
}

/** What an update must not change (ValidateObjectMetaUpdate). */
export function validateMetadataUpdate(next: Metadata, old: Metadata): FieldError[] {
  const errors: FieldError[] = [];
  const immutable = (field: keyof Metadata) => {
    if (!equalJson(next[field], old[field]))
      errors.push(invalidValue(`metadata.${field}`, next[field] ?? null, 'field is immutable'));
  };
  const added = (next.finalizers ?? []).filter((one) => !(old.finalizers ?? []).includes(one));
  if (old.deletionTimestamp !== undefined && added.length > 0) {
    const list = added.map((one) => JSON.stringify(one)).join(', ');
    errors.push(
      forbiddenField(
        'metadata.finalizers',
        `no new finalizers can be added if the object is being deleted, found new finalizers []string{${list}}`,
      ),
    );
  }
  immutable('name');
  immutable('namespace');
  immutable('uid');
  immutable('creationTimestamp');
  immutable('deletionTimestamp');
  immutable('deletionGracePeriodSeconds');
  return errors;
}

function validateLabels(labels: Record<string, string>): FieldError[] {
  const errors: FieldError[] = [];
  for (const [key, value] of Object.entries(labels)) {
    for (const problem of qualifiedNameProblems(key))
      errors.push(invalidValue('metadata.labels', key, problem));
    for (const problem of labelValueProblems(value))
      errors.push(invalidValue('metadata.labels', value, problem));
  }
  return errors;
}

function validateAnnotations(annotations: Record<string, string>): FieldError[] {
  const errors: FieldError[] = [];
  let size = 0;
  for (const [key, value] of Object.entries(annotations)) {
    size += Buffer.byteLength(key) + Buffer.byteLength(value);
    for (const problem of qualifiedNameProblems(key.toLowerCase()))
      errors.push(invalidValue('metadata.annotations', key, problem));
  }
  if (size > totalAnnotationBytes) errors.push(tooLong('metadata.annotations', totalAnnotationBytes));
  return errors;
}

function validateOwners(owners: readonly OwnerReference[]): FieldError[] {
  const errors: FieldError[] = [];
  const at = 'metadata.ownerReferences';
  for (const owner of owners) {
    if (!owner.apiVersion) errors.push(invalidValue(`${at}.apiVersion`, '', 'version must not be empty'));
    for (const field of ['kind', 'name', 'uid'] as const)
      if (!owner[field]) errors.push(invalidValue(`${at}.${field}`, '', 'must not be empty'));
  }
  const controllers = owners.filter((owner) => owner.controller === true);
  if (controllers.length > 1) {
    const [first, second] = controllers;
    errors.push(
      invalidValue(
        'metadata.ownerReferences',
        owners,
        `Only one reference can have Controller set to true. Found "true" in references for ${first?.kind}/${first?.name} and ${second?.kind}/${second?.name}`,
      ),
    );
  }
  return errors;
}

const standardFinalizers = ['orphan', 'foregroundDeletion', 'kubernetes'];

/** Objects of the core group take no finalizer without a domain, but a few. */
function validateCoreFinalizers(finalizers: readonly string[]): FieldError[] {
  const message = 'name is neither a standard finalizer name nor is it fully qualified';
  return finalizers.flatMap((finalizer, index) =>
    finalizer.includes('/') || standardFinalizers.includes(finalizer)
      ? []
      : [invalidValue(`metadata.finalizers[${index}]`, finalizer, message)],
  );
}

/** What a client is warned of when it adds a finalizer to an object of a CustomResourceDefinition. */
export function finalizerWarnings(finalizers: readonly string[], old: readonly string[]): string[] {
  const added = [...new Set(finalizers)].filter((one) => !old.includes(one)).sort();
  return added
    .filter((one) => !one.includes('/') && !standardFinalizers.includes(one))
    .map((one) => {
      const path = one.includes('.') ? ' including a path (/)' : '';
      return `metadata.finalizers: ${JSON.stringify(one)}: prefer a domain-qualified finalizer name${path} to avoid accidental conflicts with other finalizer writers`;
    });
}

function validateFinalizers(finalizers: readonly string[]): FieldError[] {
  const errors: FieldError[] = [];
  for (const finalizer of finalizers)
    for (const problem of qualifiedNameProblems(finalizer))
      errors.push(invalidValue('metadata.finalizers', finalizer, problem));
  if (finalizers.includes('orphan') && finalizers.includes('foregroundDeletion'))
    errors.push(
      invalidValue(
        'metadata.finalizers',
        finalizers,
        'finalizer orphan and foregroundDeletion cannot be both set',
      ),
    );
  return errors;
}
