package codemode

// applied calls f with every schema that judges the same value as n does.
func (d *schemaDocument) applied(n *schemaNode, f func(*schemaNode)) {
	if !n.is('{') {
		return
	}
	if ref := n.string("$ref"); ref != "" {
		if target, _ := d.resolve(ref); target != nil {
			f(target)
		}
		if d.oldRefs {
			return
		}
	}
	for _, m := range n.members {
		switch m.name {
		case "allOf", "anyOf", "oneOf":
			for _, branch := range m.value.items {
				f(branch)
			}
		case "not", "if", "then", "else":
			f(m.value)
		case "dependentSchemas", "dependencies":
			for _, p := range m.value.members {
				f(p.value)
			}
		}
	}
}

// circular reports whether some schema judges a value by itself again, so
// that a check would never end.
func (d *schemaDocument) circular() bool {
	const open, done = 1, 2
	state := map[*schemaNode]int{}
	found := false
	var visit func(*schemaNode)
	visit = func(n *schemaNode) {
		switch {
		case found || state[n] == done:
			return
		case state[n] == open:
			found = true
			return
		}
		state[n] = open
		d.applied(n, visit)
		state[n] = done
	}
	var walk func(*schemaNode)
	walk = func(n *schemaNode) {
		visit(n)
		for _, m := range n.members {
			walk(m.value)
		}
		for _, item := range n.items {
			walk(item)
		}
	}
	walk(d.root)
	return found
}

// meter counts what a check of a value costs at most.
type meter struct {
	doc  *schemaDocument
	left int
}

// affordable reports whether a value can be checked within maxCheckSteps. Each
// schema that looks at a part of the value is a step. Large parts and lists
// count more, and those deep inside even more, since the library writes them
// into messages and copies these on every level.
func affordable(doc *schemaDocument, value *schemaNode) bool {
	m := &meter{doc: doc, left: maxCheckSteps}
	m.visit(doc.root, value, 0)
	return m.left >= 0
}

func (m *meter) visit(n, value *schemaNode, depth int) {
	size := value.size + stepBytes/16
	for _, keyword := range [...]string{"enum", "const", "required"} {
		if literal := n.get(keyword); literal != nil {
			size += literal.size
		}
	}
	if m.left -= 1 + size*(depth+1)/stepBytes; m.left < 0 || !n.is('{') {
		return
	}
	m.doc.applied(n, func(part *schemaNode) { m.visit(part, value, depth+1) })
	switch value.kind {
	case '{':
		m.members(n, value, depth+1)
	case '[':
		m.items(n, value, depth+1)
	}
}

func (m *meter) members(n, value *schemaNode, depth int) {
	properties, patterns := n.object("properties"), n.object("patternProperties").all()
	for _, member := range value.members {
		if m.left < 0 {
			return
		}
		property := properties.get(member.name)
		if property == nil {
			property = n.get("additionalProperties")
		}
		if property != nil {
			m.visit(property, member.value, depth)
		}
		for _, p := range patterns {
			m.visit(p.value, member.value, depth)
		}
		if names := n.get("propertyNames"); names != nil {
			m.visit(names, &schemaNode{kind: '"', text: member.name, size: len(member.name)}, depth)
		}
	}
}

func (m *meter) items(n, value *schemaNode, depth int) {
	first, items, contains := n.list("prefixItems"), n.get("items"), n.get("contains")
	if items.is('[') {
		first, items = items.items, n.get("additionalItems")
	}
	for i, item := range value.items {
		if m.left < 0 {
			return
		}
		switch {
		case i < len(first):
			m.visit(first[i], item, depth)
		case items != nil:
			m.visit(items, item, depth)
		}
		if contains != nil {
			m.visit(contains, item, depth)
		}
	}
}
