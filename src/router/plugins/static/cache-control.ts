/** How long browsers keep files by their kind (Ploinky contract, §5); an agent-server that says so itself wins. */
export function cacheControlOf(file: string): string {
  const extension = file.slice(file.lastIndexOf('.') + 1).toLowerCase();
  if (/^(?:html?|json)$/.test(extension)) return 'public, max-age=60';
  if (/^(?:m?js|css)$/.test(extension)) return 'public, max-age=300';
  if (/^(?:png|jpe?g|gif|webp|svg|ico|avif)$/.test(extension)) return 'public, max-age=86400';
  if (/^(?:woff2?|ttf|otf)$/.test(extension)) return 'public, max-age=31536000, immutable';
  return 'no-cache';
}
