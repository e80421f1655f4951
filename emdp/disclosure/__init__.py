"""What a budget lets an attacker learn about one person, in percent: stories, their bounds, words, pictures, a page."""
