package schema

// applied calls f with every schema that applies to the same value as n.
func (d *Document) applied(n *Node, f func(*Node)) {
	if !n.Is('{') {
		return
	}
	if ref := n.StringOf("$ref"); ref != "" {
		if target, _ := d.Resolve(ref); target != nil {
			f(target)
		}
		if d.RefsOnly {
			return
		}
	}
	for _, m := range n.Members {
		switch m.Name {
		case "allOf", "anyOf", "oneOf":
			for _, branch := range m.Value.Items {
				f(branch)
			}
		case "not", "if", "then", "else":
			f(m.Value)
		case "dependentSchemas", "dependencies":
			for _, p := range m.Value.Members {
				f(p.Value)
			}
		}
	}
}

// circular reports whether a schema applies itself to the same value again, so
// that validation would never end.
func (d *Document) circular() bool {
	const open, done = 1, 2
	state := map[*Node]int{}
	found := false
	var visit func(*Node)
	visit = func(n *Node) {
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
	var walk func(*Node)
	walk = func(n *Node) {
		visit(n)
		for _, m := range n.Members {
			walk(m.Value)
		}
		for _, item := range n.Items {
			walk(item)
		}
	}
	walk(d.root)
	return found
}

// costMeter counts the maximum cost of validating a value.
type costMeter struct {
	doc  *Document
	left int
}

// withinBudget reports whether a value can be validated within maxCheckSteps.
// Each schema that applies to a part of the value is a step. Large and deeply
// nested parts and lists count more: the library writes them into messages,
// which it copies at every level.
func withinBudget(doc *Document, value *Node) bool {
	m := &costMeter{doc: doc, left: maxCheckSteps}
	m.visit(doc.root, value, 0)
	return m.left >= 0
}

func (m *costMeter) visit(n, value *Node, depth int) {
	size := len(value.Raw) + stepBytes/16
	for _, keyword := range [...]string{"enum", "const", "required"} {
		if literal := n.Get(keyword); literal != nil {
			size += len(literal.Raw)
		}
	}
	if m.left -= 1 + size*(depth+1)/stepBytes; m.left < 0 || !n.Is('{') {
		return
	}
	m.doc.applied(n, func(part *Node) { m.visit(part, value, depth+1) })
	switch value.Kind {
	case '{':
		m.members(n, value, depth+1)
	case '[':
		m.items(n, value, depth+1)
	}
}

func (m *costMeter) members(n, value *Node, depth int) {
	properties, patterns := n.ObjectOf("properties"), n.ObjectOf("patternProperties").All()
	for _, member := range value.Members {
		if m.left < 0 {
			return
		}
		property := properties.Get(member.Name)
		if property == nil {
			property = n.Get("additionalProperties")
		}
		if property != nil {
			m.visit(property, member.Value, depth)
		}
		for _, p := range patterns {
			m.visit(p.Value, member.Value, depth)
		}
		if names := n.Get("propertyNames"); names != nil {
			m.visit(names, &Node{Kind: '"', Text: member.Name, Raw: []byte(member.Name)}, depth)
		}
	}
}

func (m *costMeter) items(n, value *Node, depth int) {
	first, items, contains := n.ListOf("prefixItems"), n.Get("items"), n.Get("contains")
	if items.Is('[') {
		first, items = items.Items, n.Get("additionalItems")
	}
	for i, item := range value.Items {
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
