// Package registry keeps the tools that agents can call: who registered them,
// who sees them, and how they are described to the model.
//
// Tools live in layers. One layer is global; every agent may have its own, and
// an agent started by another inherits the layers above it. A [Scope] is the
// handle on a layer: it registers, restricts and guards there, and reads what
// its owner sees. Reads take a lock for a map look-up or return a cached view;
// neither depends on how many tools there are.
package registry
