// The service worker next to a page that is served: it stores the page, which then opens without a network.
"use strict";

const CACHE = `dragoman-${self.registration.scope}-{{version}}`;

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(CACHE).then((cache) => cache.add(new Request("./", { cache: "reload" }))).then(() => self.skipWaiting()));
});

// The page of another version is dropped when this one is stored.
self.addEventListener("activate", (event) => {
  const ours = (name) => name.startsWith(`dragoman-${self.registration.scope}-`) && name !== CACHE;
  const dropped = caches.keys().then((names) => Promise.all(names.filter(ours).map((name) => caches.delete(name))));
  event.waitUntil(dropped.then(() => self.clients.claim()));
});

self.addEventListener("fetch", (event) => {
  if (event.request.mode !== "navigate") return;
  event.respondWith(caches.open(CACHE).then(async (cache) => (await cache.match("./")) ?? fetch(event.request)));
});
