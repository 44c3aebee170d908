/**
 * The same pure function, computed once for each object and forgotten with it. For objects that nobody changes,
 * such as those of a cache: a changed object would keep its old answer.
 */
export function oncePerObject<K extends object, V>(compute: (object: K) => V): (object: K) => V {
  const known = new WeakMap<K, { readonly value: V }>();
  return (object) => {
    const found = known.get(object);
    if (found !== undefined) return found.value;
    const value = compute(object);
    known.set(object, { value });
    return value;
  };
}
