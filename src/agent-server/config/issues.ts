import { en } from 'zod/locales';
import { config } from 'zod/mini';

// zod/mini has no words of its own.
config(en());

interface Issue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** `tools[0].args: must be an array; …`: at most five issues, each with its place. */
export function describeIssues(issues: readonly Issue[], root = ''): string {
  const texts = issues.slice(0, 5).map((issue) => {
    const place = formatPath(issue.path, root);
    return place === '' ? issue.message : `${place}: ${issue.message}`;
  });
  if (issues.length > 5) texts.push(`and ${issues.length - 5} more`);
  return texts.join('; ');
}

function formatPath(path: readonly PropertyKey[], root: string): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${key}]`;
    return text === '' ? String(key) : `${text}.${String(key)}`;
  }, root);
}
